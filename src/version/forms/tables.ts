import type { Fields, JsonObject } from "../../wire/json-form.js";
import type { Violations } from "../../wire/violations.js";

/**
 * An alternative to ProtoJSON for the same messages, as other versions of the protocol use it. The tables are keyed by
 * type name, and `makeForm` (make-form.ts) compiles them. Types and enums without a table are read and written as
 * ProtoJSON, and the form applies to the messages inside them.
 */
export interface FormTables {
  readonly name: string;
  readonly types: Readonly<Record<string, TypeForm>>;
  readonly enums?: Readonly<Record<string, EnumForm>>;
  /** True if member names are also read in snake_case, as in ProtoJSON. */
  readonly takesSnakeCase?: boolean;
}

/** Words for the values of an enum. */
export interface EnumForm {
  /** The word of each number, for writing and reading. If several numbers share a word, it is read as the first one. */
  readonly words: Readonly<Record<number, string>>;
  /** Additional words that are accepted when reading. */
  readonly also?: Readonly<Record<string, number>>;
  /** The word for a number without an entry. Default: the number itself. */
  readonly otherwise?: string;
  /** True if numbers are read. */
  readonly takesNumbers?: boolean;
}

/**
 * The JSON of a type: an object with members, one of several kinds of object, the value of one field, or custom
 * functions.
 */
export type TypeForm = ObjectForm | VariantsForm | BareForm | WholeForm;

/** An object. Fields without a member are neither written nor read, and unknown members are ignored. */
export interface ObjectForm {
  /** Members in the order in which they are written. A string is a field that keeps its name. */
  readonly members: readonly MemberForm[];
  /** Runs after the members are read, for values that depend on several members, and for checks. */
  readonly settle?: Settle;
  /** Converts malformed JSON before it is read. */
  readonly prepare?: (json: unknown) => unknown;
}

export type Settle = (message: Fields, json: JsonObject, at: Violations) => void;

/** An object whose members depend on the field of a one-of that is set, as a discriminator such as `kind` names it. */
export interface VariantsForm {
  /** Local name of the one-of. */
  readonly oneof: string;
  /** Name of the discriminator, which is written first. */
  readonly by: string;
  /** True if the discriminator is not written. */
  readonly isSilent?: boolean;
  /** Returns the discriminator of an object; undefined rejects the object. Default: the member's value. */
  readonly wordOf?: (json: JsonObject) => string | undefined;
  /** Description of valid discriminators, for the violation. Default: one of the words. */
  readonly expectation?: string;
  /** The kinds of object by discriminator: their fields of the one-of (jsonName) and their members. */
  readonly variants: Readonly<Record<string, Variant>>;
}

export interface Variant extends ObjectForm {
  readonly cases: readonly string[];
}

/** A message written as the value of one of its fields, without an object around it. */
export interface BareForm {
  /** Local name of a one-of, or of a field outside one-ofs. */
  readonly bare: string;
  /** Returns the field of the one-of (jsonName) that a value belongs to. */
  readonly caseOf?: (json: unknown) => string | undefined;
  /** Description of valid values, for the violation: `must be a task or a message`. */
  readonly expectation?: string;
}

/** A message that custom functions write and read. */
interface WholeForm {
  /** Returns JSON on one line. */
  readonly write: (message: Readonly<Fields>) => string;
  /** Returns the message, or undefined if it added a violation. */
  readonly read: (json: unknown, at: Violations) => unknown;
}

export type MemberForm = string | FieldForm | ConstantForm | GroupForm | FlatForm | ComputedForm;

/** A field. */
export interface FieldForm {
  /** jsonName of the field. */
  readonly field: string;
  /** Name of the member. Default: the jsonName. */
  readonly name?: string;
  /** Additional names that are accepted when reading. */
  readonly also?: readonly string[];
  /**
   * True if the member is written even at its default. Default: if the contract marks the field as REQUIRED. A message
   * field then needs `absent`.
   */
  readonly isAlways?: boolean;
  /** JSON to write in place of leaving the field out. */
  readonly absent?: string;
  /**
   * True if requests without a non-empty value are rejected; a member of a one-of may be empty. Answers are never
   * rejected.
   */
  readonly isRequired?: boolean;
  /** Form of the field's message (or of the list's items), if it differs from that of the type. */
  readonly as?: TypeForm;
  /** Members of the outer message that are written inside the object of this field's message. */
  readonly inside?: readonly MemberForm[];
  /**
   * Returns a value as JSON on one line; undefined leaves the member out. With `isAlways` it is also called for an
   * absent value.
   */
  readonly write?: (value: unknown, message: Fields) => string | undefined;
  /** Returns the value of the field; undefined if absent, or if it added a violation. */
  readonly read?: (json: unknown, at: Violations) => unknown;
}

/** A member with a constant value, which is not read. */
export interface ConstantForm {
  readonly constant: string;
  readonly value: string | boolean;
}

/** Members of this message that are written in an object of their own, which is left out if empty. */
export interface GroupForm {
  readonly group: string;
  readonly also?: readonly string[];
  readonly isRequired?: boolean;
  readonly members: readonly MemberForm[];
  readonly settle?: Settle;
}

/** Members of a nested message (in a field outside one-ofs) that are written in the object of the outer message. */
export interface FlatForm {
  /** jsonName of the field. */
  readonly flat: string;
  readonly members: readonly MemberForm[];
}

/** A member without a field. */
export interface ComputedForm {
  readonly name: string;
  /** Returns JSON on one line; undefined leaves the member out. */
  readonly write?: (message: Fields) => string | undefined;
  /** Reads the member. Default: the member is ignored. */
  readonly read?: (message: Fields, json: unknown, at: Violations) => void;
}
