import type { DescField, Message } from "@bufbuild/protobuf";
import { hasImplicitPresence, zeroTest } from "./field-rules.js";

/** Gets and sets one field of any message of its type. */
export interface FieldAccess {
  /** The value of a field that is set, else undefined. A field without presence is set when it is not at its default. */
  readonly get: (message: Message) => unknown;
  readonly set: (message: Message, value: unknown) => void;
}

type Fields = Record<string, unknown>;
const fieldsOf = (message: Message): Fields => message as unknown as Fields;

/** Access to a field, one-of members included. */
export function accessTo(field: DescField): FieldAccess {
  const { localName: name, oneof } = field;
  if (oneof !== undefined) {
    return {
      get: (message) => {
        const chosen = fieldsOf(message)[oneof.localName] as { case?: string; value?: unknown };
        return chosen.case === name ? chosen.value : undefined;
      },
      set: (message, value) => {
        fieldsOf(message)[oneof.localName] = { case: name, value };
      },
    };
  }
  const isUnset = hasImplicitPresence(field) ? zeroTest(field) : () => false;
  return {
    get: (message) => {
      const value = fieldsOf(message)[name];
      return isUnset(value) ? undefined : value;
    },
    set: (message, value) => {
      fieldsOf(message)[name] = value;
    },
  };
}
