import type { ListValue, Struct, Value } from "@bufbuild/protobuf/wkt";
import { type BinaryInput, fieldNumber, keepUnknown } from "./binary-input.js";
import { listMessage, setOwn, structMessage, valueMessage } from "./json-value.js";

/**
 * Readers of the fields of `google.protobuf.Struct`, `Value` and `ListValue`. They are written by hand, because a data
 * part may have tens of thousands of them.
 */

export function readStruct(struct: Struct, input: BinaryInput, length: number): void {
  input.enter();
  const end = input.at + length;
  while (input.at < end) {
    const tag = input.tag();
    if (fieldNumber(tag) === 1) readMember(struct, input, input.uint32());
    else keepUnknown(struct, input, tag);
  }
  input.leave();
}

function readMember({ fields }: Struct, input: BinaryInput, length: number): void {
  let name = "";
  let value: Value | undefined;
  const end = input.at + length;
  while (input.at < end) {
    const tag = input.tag();
    if (fieldNumber(tag) === 1) name = input.text();
    else if (fieldNumber(tag) === 2) value = readInside(value ?? valueMessage({ case: undefined }), input, readValue);
    else input.skip(tag);
  }
  setOwn(fields, name, value ?? valueMessage({ case: undefined }));
}

export function readListValue(list: ListValue, input: BinaryInput, length: number): void {
  input.enter();
  const end = input.at + length;
  while (input.at < end) {
    const tag = input.tag();
    if (fieldNumber(tag) === 1) list.values.push(readInside(valueMessage({ case: undefined }), input, readValue));
    else keepUnknown(list, input, tag);
  }
  input.leave();
}

export function readValue(value: Value, input: BinaryInput, length: number): void {
  input.enter();
  const end = input.at + length;
  while (input.at < end) readKind(value, input);
  input.leave();
}

function readKind(message: Value, input: BinaryInput): void {
  const { kind } = message;
  const tag = input.tag();
  switch (fieldNumber(tag)) {
    case 1:
      message.kind = { case: "nullValue", value: input.uint32() | 0 };
      return;
    case 2:
      message.kind = { case: "numberValue", value: input.double() };
      return;
    case 3:
      message.kind = { case: "stringValue", value: input.text() };
      return;
    case 4:
      message.kind = { case: "boolValue", value: input.bool() };
      return;
    case 5: {
      const struct = kind.case === "structValue" ? kind.value : structMessage({});
      message.kind = { case: "structValue", value: readInside(struct, input, readStruct) };
      return;
    }
    case 6: {
      const list = kind.case === "listValue" ? kind.value : listMessage([]);
      message.kind = { case: "listValue", value: readInside(list, input, readListValue) };
      return;
    }
    default:
      keepUnknown(message, input, tag);
  }
}

function readInside<M>(
  message: M,
  input: BinaryInput,
  read: (message: M, input: BinaryInput, length: number) => void,
): M {
  read(message, input, input.uint32());
  return message;
}
