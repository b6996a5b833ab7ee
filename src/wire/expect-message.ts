import { type DescMessage, isMessage, type MessageShape } from "@bufbuild/protobuf";

/** Returns a message whose type the caller knows, such as a method's answer. Throws a TypeError for any other value. */
export function expectMessage<Desc extends DescMessage>(desc: Desc, value: unknown): MessageShape<Desc> {
  if (!isMessage(value, desc)) throw new TypeError(`not a ${desc.typeName}`);
  return value;
}
