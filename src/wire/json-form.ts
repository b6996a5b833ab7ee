import type { Violations } from "./violations.js";

/**
 * Another JSON form of the same messages than ProtoJSON, as other versions of the protocol have it: tables by the name of
 * a type (`makeForm` in make-form.ts compiles them). Types and enums that are not in them are written and read as ProtoJSON has
 * them, with the form for what they hold.
 */
export interface FormTables {
  readonly name: string;
  readonly types: Readonly<Record<string, TypeForm>>;
  readonly enums?: Readonly<Record<string, EnumForm>>;
  /** Whether the names of members are read in snake_case too, as ProtoJSON has it. */
  readonly takesSnakeCase?: boolean;
}

/** Words that stand for the values of an enum. */
export interface EnumForm {
  /** What each number is written as, and read from. Several may share a word: the first one is read. */
  readonly words: Readonly<Record<number, string>>;
  /** Other words that are read. */
  readonly also?: Readonly<Record<string, number>>;
  /** What a number is written as that is not in the table. Left out: as the number. */
  readonly otherwise?: string;
  /** Whether numbers are read. */
  readonly takesNumbers?: boolean;
}

/** How messages of a type look: an object with members, one of several, what stands in the place of the message, or as functions have it. */
export type TypeForm = ObjectForm | VariantsForm | BareForm | WholeForm;

/** A message by the local names of its fields, as forms see it. */
export type Fields = Record<string, unknown>;

/** A JSON object that is being read. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** An object. Fields that no member names are neither written nor read, and other members are ignored. */
export interface ObjectForm {
  /** In the order in which they are written. A text is a field that keeps its name. */
  readonly members: readonly MemberForm[];
  /** Called when the members have been read: for what belongs to several of them, or has to be checked. */
  readonly settle?: Settle;
  /** Puts JSON right that is not the object it should be, before it is read. */
  readonly prepare?: (json: unknown) => unknown;
}

export type Settle = (message: Fields, json: JsonObject, at: Violations) => void;

/** An object whose members depend on which field of a one-of is set, as `kind` says it. */
export interface VariantsForm {
  /** Local name of the one-of. */
  readonly oneof: string;
  /** Name of the member that says which one it is, and stands first. */
  readonly by: string;
  /** Whether that member is written. */
  readonly isSilent?: boolean;
  /** What it says, or would say, about an object. Undefined refuses the object. Left out: the member's value. */
  readonly wordOf?: (json: JsonObject) => string | undefined;
  /** What it has to be, for the violation. Left out: one of the words. */
  readonly expectation?: string;
  /** By word. The fields of the one-of that an object of this kind has (jsonName), and its members. */
  readonly variants: Readonly<Record<string, Variant>>;
}

export interface Variant extends ObjectForm {
  readonly cases: readonly string[];
}

/** A message that is written as the value of one of its fields, without an object around it. */
export interface BareForm {
  /** Local name of a one-of, or of a field that is no part of one. */
  readonly bare: string;
  /** Which field of the one-of (jsonName) a value belongs to. */
  readonly caseOf?: (json: unknown) => string | undefined;
  /** What a value without one has to be, for the violation: `must be a task or a message`. */
  readonly expectation?: string;
}

/** A message as functions write and read it. */
export interface WholeForm {
  /** JSON on one line. */
  readonly write: (message: Fields) => string;
  /** The message, or undefined when it noted a violation. */
  readonly read: (json: unknown, at: Violations) => unknown;
}

export type MemberForm = string | FieldForm | ConstantForm | GroupForm | FlatForm | ComputedForm;

/** A field. */
export interface FieldForm {
  /** Its jsonName. */
  readonly field: string;
  /** Left out: its jsonName. */
  readonly name?: string;
  /** Other names that are read. */
  readonly also?: readonly string[];
  /** Whether it is written although it is at its default. Left out: as the contract has it REQUIRED. A message needs `absent` for it. */
  readonly isAlways?: boolean;
  /** JSON that is written where the field would be left out. */
  readonly absent?: string;
  /** Whether requests without it are refused, or with an empty text, unless it is one of a one-of. Answers are not. */
  readonly isRequired?: boolean;
  /** The form of the message that it holds (or of the items of the list), where it differs from that of others of its type. */
  readonly as?: TypeForm;
  /** Members of this message that stand in the object of the message that the field holds. */
  readonly inside?: readonly MemberForm[];
  /** JSON of a value on one line. Undefined leaves the member out. With `isAlways` it is called for no value as well. */
  readonly write?: (value: unknown, message: Fields) => string | undefined;
  /** The value of the field; undefined for none, or when it noted a violation. */
  readonly read?: (json: unknown, at: Violations) => unknown;
}

/** A member that is always the same, and is not read. */
export interface ConstantForm {
  readonly constant: string;
  readonly value: string | boolean;
}

/** Members of this message that stand in an object of their own. It is left out while it is empty. */
export interface GroupForm {
  readonly group: string;
  readonly also?: readonly string[];
  readonly isRequired?: boolean;
  readonly members: readonly MemberForm[];
  readonly settle?: Settle;
}

/** Members of a message that this one holds (in a field that is no part of a one-of), which stand in the object of this one. */
export interface FlatForm {
  /** jsonName of the field. */
  readonly flat: string;
  readonly members: readonly MemberForm[];
}

/** A member that no field stands for. */
export interface ComputedForm {
  readonly name: string;
  /** JSON on one line; undefined leaves it out. */
  readonly write?: (message: Fields) => string | undefined;
  /** Left out: it is ignored. */
  readonly read?: (message: Fields, json: unknown, at: Violations) => void;
}
