import type { DescMessage, Message } from "@bufbuild/protobuf";
import { hasImplicitPresence } from "./field-rules.js";

const same = (message: Message): Message => message;

/**
 * What becomes of a request that came as protobuf: a `page_size` of 0 counts as not set (AIP-158), as clients whose
 * language has no absence for numbers send it whether they mean it or not. In JSON and in queries a 0 is there only
 * because somebody wrote it, and is out of range like every other number beside 1 to 100 (specification 3.1.4, 6.5).
 */
export function protobufRequest(desc: DescMessage): (message: Message) => Message {
  const field = desc.fields.find(({ name }) => name === "page_size");
  if (field === undefined || hasImplicitPresence(field)) return same;
  const { localName } = field;
  return (message) => {
    const fields = message as unknown as Record<string, unknown>;
    if (fields[localName] === 0) fields[localName] = undefined;
    return message;
  };
}
