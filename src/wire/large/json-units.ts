import type { DescMessage, Message } from "@bufbuild/protobuf";
import { base64Of } from "../../core/bytes.js";
import { membersOf } from "../../core/members.js";
import type { JsonField, JsonForm, JsonMember } from "../json-form.js";
import { quote } from "../json-text.js";
import { jsonLayout, jsonWriter } from "../json-writer.js";
import type { UnitOrList } from "./piece-list.js";
import { CUT_AT, cuts, isSpine, largePart, type Part } from "./spine.js";

/** The form of a message's parts, and the parts that are shared. */
export interface JsonWay {
  readonly form: JsonForm | undefined;
  /** Returns the list of a shared message, or undefined for a message that is written inline. */
  readonly shared: (desc: DescMessage, message: Message) => UnitOrList | undefined;
}

type Units = Generator<UnitOrList, void, undefined>;

/** Yields a message as JSON, the same text as `jsonWriter` writes except for escapes of surrogates. */
export function* jsonUnits(desc: DescMessage, message: Message, way: JsonWay): Units {
  const layout = isSpine(desc, message) ? jsonLayout(desc, message, way.form) : undefined;
  const part = layout !== undefined && "bare" in layout ? largePart(layout.bare, message) : undefined;
  if (part !== undefined && (part.kind !== "messages" || part.items.length > 0)) yield* partUnits(part, way);
  else if (layout === undefined || "bare" in layout) yield () => jsonWriter(desc, way.form)(message);
  else {
    yield layout.open;
    yield* memberUnits(layout.members, { message, comma: layout.open === "{" ? "" : "," }, way);
    yield "}";
  }
}

/**
 * A position in an object being written: the message of the next members, and the separator before the first of them.
 */
interface ObjectPosition {
  readonly message: Message;
  readonly comma: string;
}

/** Yields the members of an object. Returns the separator before the next member. */
function* memberUnits(
  members: readonly JsonMember[],
  { message, comma: first }: ObjectPosition,
  way: JsonWay,
): Generator<UnitOrList, string, undefined> {
  let comma = first;
  for (const member of members) {
    if (isWhole(member, message)) {
      const text = member.write(membersOf(message), "{");
      if (text === "{") continue;
      yield comma + text.slice(1);
    } else if (member.group !== undefined) {
      yield `${comma}${member.group.key}{`;
      yield* memberUnits(member.group.members, { message, comma: "" }, way);
      yield "}";
    } else {
      const [field, part] = setField(member, message) as [JsonField, Part];
      yield comma + field.key;
      if (field.inside === undefined) yield* partUnits(part, way);
      else yield* withInside(part, { field, message }, way);
    }
    comma = ",";
  }
  return comma;
}

/** Returns true if a member is written at once. */
function isWhole(member: JsonMember, message: Message): boolean {
  if (member.group !== undefined) return member.group.members.every((each) => isWhole(each, message));
  return setField(member, message) === undefined;
}

function setField({ fields }: JsonMember, message: Message): [JsonField, Part] | undefined {
  for (const field of fields) {
    const part = largePart(field.of, message);
    // The member's own writer handles an empty list.
    if (part !== undefined && (part.kind !== "messages" || part.items.length > 0)) return [field, part];
  }
  return undefined;
}

/**
 * Yields a nested message whose object also contains members of the outer message. It is not shared, because its end
 * depends on the outer message.
 */
function* withInside(
  part: Part,
  { field, message }: { readonly field: JsonField; readonly message: Message },
  way: JsonWay,
): Units {
  if (part.kind !== "message") throw new TypeError(`${field.of.name} is not a message`);
  const held: UnitOrList[] = [...jsonUnits(part.desc, part.message, way)];
  const end = held.pop();
  // The last unit is "}" or the text of an object that was written at once, which is reopened.
  const text = end === "}" ? undefined : (end as () => string)();
  yield* held;
  if (text !== undefined) yield text.slice(0, -1);
  yield* memberUnits(field.inside ?? [], { message, comma: text === "{}" ? "" : "," }, way);
  yield "}";
}

function* partUnits(part: Part, way: JsonWay): Units {
  switch (part.kind) {
    case "messages":
      for (const [i, item] of part.items.entries()) {
        yield i === 0 ? "[" : ",";
        yield* sharedOr(part.desc, item, way);
      }
      return yield "]";
    case "message":
      return yield* sharedOr(part.desc, part.message, way);
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

function* sharedOr(desc: DescMessage, message: Message, way: JsonWay): Units {
  const list = way.shared(desc, message);
  if (list === undefined) yield* jsonUnits(desc, message, way);
  else yield list;
}

/** A multiple of three, so that only the last piece is padded. */
const BASE64_BYTES = CUT_AT - (CUT_AT % 3);

function* base64Units(bytes: Uint8Array): Units {
  for (let from = 0; from < bytes.length; from += BASE64_BYTES) {
    const slice = bytes.subarray(from, from + BASE64_BYTES);
    yield () => base64Of(slice);
  }
}
