import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { base64Of } from "../../core/bytes.js";
import { quote } from "../json-text.js";
import { type JsonMember, jsonMembers, jsonWriter } from "../json-writer.js";
import type { UnitOrList } from "./piece-list.js";
import { CUT_AT, cuts, isSpine, type Part, partOf } from "./spine.js";

/** The list of a message that others share, or undefined for one that is written here. */
export type SharedList = (desc: DescMessage, message: Message) => UnitOrList | undefined;

type Units = Generator<UnitOrList, void, undefined>;

/** A message as JSON, the same as `jsonWriter` makes but for escapes of surrogates. */
export function* jsonUnits(desc: DescMessage, message: Message, shared: SharedList): Units {
  const members = isSpine(desc, message) ? jsonMembers(desc) : undefined;
  if (members === undefined) {
    yield () => jsonWriter(desc)(message);
    return;
  }
  yield "{";
  let comma = "";
  for (const member of members) {
    const part = partOfMember(member, message);
    if (part === undefined) {
      const text = member.write(message, "{");
      if (text === "{") continue;
      yield comma + text.slice(1);
    } else {
      yield `${comma}${quote(part.field.jsonName)}:`;
      yield* partUnits(part.part, shared);
    }
    comma = ",";
  }
  yield "}";
}

function partOfMember({ of }: JsonMember, message: Message): { field: DescField; part: Part } | undefined {
  for (const field of of.kind === "oneof" ? of.fields : [of]) {
    const part = partOf(field, message);
    // A list without items is written, or left out, as its field wants it.
    if (part !== undefined && (part.kind !== "messages" || part.items.length > 0)) return { field, part };
  }
  return undefined;
}

function* partUnits(part: Part, shared: SharedList): Units {
  switch (part.kind) {
    case "messages":
      for (const [i, item] of part.items.entries()) {
        yield i === 0 ? "[" : ",";
        yield* sharedOr(part.desc, item, shared);
      }
      return yield "]";
    case "message":
      return yield* sharedOr(part.desc, part.message, shared);
    case "text":
      yield '"';
      for (const [from, to] of cuts(part.text)) yield () => quote(part.text.slice(from, to)).slice(1, -1);
      return yield '"';
    case "bytes":
      yield '"';
      yield* base64Units(part.bytes);
      return yield '"';
  }
}

function* sharedOr(desc: DescMessage, message: Message, shared: SharedList): Units {
  const list = shared(desc, message);
  if (list === undefined) yield* jsonUnits(desc, message, shared);
  else yield list;
}

/** A multiple of three, so that no piece but the last one is padded. */
const BASE64_BYTES = CUT_AT - (CUT_AT % 3);

function* base64Units(bytes: Uint8Array): Units {
  for (let from = 0; from < bytes.length; from += BASE64_BYTES) {
    const slice = bytes.subarray(from, from + BASE64_BYTES);
    yield () => base64Of(slice);
  }
}
