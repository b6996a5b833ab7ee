import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Part } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { dataOf, type MessageFields } from "../../../src/client/web.js";

/** Media type of the forms of Parley's agents (docs/questions.md). Those of the first samples of A2A name none. */
const MEDIA_TYPE = "application/vnd.parley.form+json";

/** The text by which the first user interface of A2A declines a form. */
const CANCEL_TEXT = "rejected form entry";

/** Characters of a form that are shown as one. */
const MAX_FORM = 200_000;

/** A form that an agent asks to be filled in. */
export interface AskedForm {
  readonly schema: JsonObject;
  readonly data: JsonObject;
  readonly instructions: string;
  readonly violations: readonly { readonly field: string; readonly description: string }[];
  /** Identifies it within its task. */
  readonly id: string | undefined;
  readonly isParley: boolean;
}

/** Returns the form in a part; undefined if it has none. */
export function formOf(part: Part): AskedForm | undefined {
  if (part.content.case !== "data") return undefined;
  const [value] = dataOf({ parts: [part] });
  if (!isObject(value) || value.type !== "form") return undefined;
  const schema = parsed(value.form);
  if (!isObject(schema) || JSON.stringify(schema).length > MAX_FORM) return undefined;
  const data = parsed(value.form_data);
  const violations = Array.isArray(value.violations) ? value.violations : [];
  return {
    schema,
    data: isObject(data) ? data : {},
    instructions: typeof value.instructions === "string" ? value.instructions : "",
    violations: violations.flatMap((each) => {
      const { field, description } = isObject(each) ? each : {};
      return typeof field === "string" && typeof description === "string" ? [{ field, description }] : [];
    }),
    id: typeof value.id === "string" ? value.id : undefined,
    isParley: part.mediaType === MEDIA_TYPE,
  };
}

/** Some of the first samples send their form as JSON in a text. */
function parsed(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The parts that answer a form. Its id keeps the answer from going to a later form. */
export function answerOf({ id }: AskedForm, data: JsonObject): MessageFields["parts"] {
  return [{ data, ...(id !== undefined && { metadata: { form: id } }) }];
}

/** The parts that decline a form. */
export function refusalOf({ id, isParley }: AskedForm): MessageFields["parts"] {
  if (!isParley) return [{ text: CANCEL_TEXT }];
  return [{ data: { type: "form", declined: true }, ...(id !== undefined && { metadata: { form: id } }) }];
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
