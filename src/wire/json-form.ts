import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import type { Leaf } from "./json-leaf.js";
import type { Violations } from "./violations.js";

/**
 * An alternative to ProtoJSON for the same messages. Compiled codecs are cached by its identity, so each form must be
 * created once. The codecs depend on this interface only, so that a bundle without older versions excludes the compiler
 * of forms.
 */
export interface JsonForm {
  readonly name: string;
  /** Returns the reader of a field that is one JSON string, number or boolean. Undefined for other fields. */
  readonly leaf: (field: DescField) => Leaf | undefined;
  /** Returns the writer of an enum with words of its own. */
  readonly enumWriter: (desc: DescEnum) => Write | undefined;
  /** Compiles the writer of a type with a table in the form. */
  readonly writer: (desc: DescMessage, tools: WriterTools) => FormWriter | undefined;
  /** Compiles the reader of a type with a table in the form. */
  readonly reader: (desc: DescMessage, tools: ReaderTools) => Read | undefined;
}

/** The fields of a message by local name. */
export type Fields = Record<string, unknown>;

/** A JSON object that is being read. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Reads one JSON value into a field's value. Undefined if it added a violation. */
export type Read = (json: unknown, at: Violations) => unknown;

/** Stores the value of one member of a JSON object in its field. */
export type PutMember = (message: Fields, json: unknown, at: Violations, object: JsonObject) => void;

/** Functions of the ProtoJSON reader that a form uses. */
export interface ReaderTools {
  /** Returns the reader of a field's value, which applies the form to nested messages. */
  readonly value: (field: DescField) => Read;
  /** Returns the reader of a list from that of its items. */
  readonly list: (read: Read) => Read;
  /** Returns the reader of a named member, which rejects a second choice of the same one-of. */
  readonly member: (field: DescField, as: MemberName, read: Read) => PutMember;
  /** Returns a function that creates empty messages. */
  readonly blank: (desc: DescMessage) => () => Fields;
}

/** Name of a member, and the names of all choices of its one-of. */
export interface MemberName {
  readonly name: string;
  readonly choices: readonly string[];
}

/** Writes one value. */
export type Write = (value: unknown) => string;

/** Appends one member to an object that begins with `{`, or nothing if its field is left out. */
export type Member = (message: Readonly<Fields>, out: string) => string;

/** One member of a type's JSON, for writing a message in parts. */
export interface JsonMember {
  readonly write: Member;
  /** The fields that the member may represent, of which at most one is set. */
  readonly fields: readonly JsonField[];
  /** The nested object that the member writes, if it groups other members of the same message. */
  readonly group?: JsonGroup;
}

/** A field with the text before its value: `"name":`. */
export interface JsonField {
  readonly of: DescField;
  readonly key: string;
  /** Members of the outer message that are written inside this field's object. */
  readonly inside?: readonly JsonMember[];
}

interface JsonGroup {
  readonly key: string;
  readonly members: readonly JsonMember[];
}

/**
 * Structure of a message's JSON: an object with its beginning and members, or the value of one field in place of the
 * message.
 */
export type JsonLayout =
  | { readonly open: string; readonly members: readonly JsonMember[] }
  | { readonly bare: DescField };

/** The writer of a type in a form. */
export interface FormWriter {
  readonly write: Write;
  /** Returns the structure of a message, or undefined if it cannot be written in parts. */
  readonly layout: (message: Readonly<Fields>) => JsonLayout | undefined;
}

/** Functions of the ProtoJSON writer that a form uses. */
export interface WriterTools {
  /** Returns the writer of a field's value, which applies the form to nested messages. */
  readonly value: (field: DescField) => Write;
  /** Returns the writer of a message field, singular or a list, whose messages have their own writer. */
  readonly items: (field: DescField, write: Write) => Write;
}
