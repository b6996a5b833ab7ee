import type { Agent, AgentEvent } from "parley-a2a";
import { turnWith } from "parley-a2a/testing";

// A2UI 0.9.1 (a2ui.org): user interfaces that an agent describes, for clients that activate the extension.

const EXTENSION = "https://a2ui.org/a2a-extension/a2ui/v0.9.1";
const CATALOG = "https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json";
const MEDIA_TYPE = "application/a2ui+json";

/** A form, as `turn.form` asks for it. */
interface Form {
  readonly type: "form";
  readonly id: string;
  readonly form: { readonly properties: Readonly<Record<string, Field>> };
  readonly form_data: Readonly<Record<string, JsonValue>>;
  readonly instructions: string;
  readonly violations?: readonly { readonly field: string; readonly description: string }[];
}

interface Field {
  readonly type?: string;
  readonly format?: string;
  readonly title?: string;
}

type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue };

/** An action of the user on a surface. */
interface Action {
  readonly name: string;
  readonly surfaceId: string;
  readonly context: { [name: string]: JsonValue };
}

/** The extension, for the capabilities in the agent's card. */
export const a2uiExtension = {
  uri: EXTENSION,
  description: "Shows forms as A2UI surfaces.",
  params: { supportedCatalogIds: [CATALOG] },
};

/** Shows every form of an agent as an A2UI surface too, to clients that activate the extension. */
export function withA2ui(agent: Agent): Agent {
  return {
    ...agent,
    async *execute(turn) {
      if (!turn.extensions.has(EXTENSION)) return yield* agent.execute(turn);
      const action = turn.data.map(actionIn).find((each) => each !== undefined);
      const answer = action?.name === "submit" ? action.context : { type: "form", declined: true };
      const inner = action === undefined ? turn : turnWith(turn, { data: [answer] });
      const surface = { surfaceId: `form-${turn.message.messageId}`, replaced: action?.surfaceId };
      for await (const event of agent.execute(inner)) yield shown(event, surface);
    },
  };
}

/** The action of a data part with A2UI messages. */
function actionIn(data: unknown): Action | undefined {
  const messages = (Array.isArray(data) ? data : []) as readonly { readonly action?: Partial<Action> }[];
  for (const message of messages) {
    const { name, surfaceId, context } = message?.action ?? {};
    if (name !== undefined && surfaceId !== undefined) return { name, surfaceId, context: context ?? {} };
  }
  return undefined;
}

interface Surface {
  readonly surfaceId: string;
  /** The surface that the user has just submitted. */
  readonly replaced: string | undefined;
}

/** Adds the surface to an event with a form. */
function shown(event: AgentEvent, surface: Surface): AgentEvent {
  if (event.kind !== "status" || typeof event.content !== "object" || !("parts" in event.content)) return event;
  const { parts } = event.content;
  const form = parts.flatMap((part) => ("data" in part && isForm(part.data) ? [part.data] : []))[0];
  if (form === undefined) return event;
  const part = { data: surfaceOf(form, surface), mediaType: MEDIA_TYPE, metadata: { mimeType: MEDIA_TYPE } };
  const extensions = [...(event.content.extensions ?? []), EXTENSION];
  return { ...event, content: { ...event.content, parts: [...parts, part], extensions } };
}

function isForm(data: unknown): data is Form {
  return typeof data === "object" && data !== null && "type" in data && data.type === "form";
}

/** The messages that create the surface of a form. */
function surfaceOf(
  { form, form_data, instructions, violations = [] }: Form,
  { surfaceId, replaced }: Surface,
): JsonValue {
  const version = "v0.9.1";
  const names = Object.keys(form.properties);
  const fields = Object.entries(form.properties).flatMap(([name, field]) => [
    { id: name, label: field.title ?? name, ...inputOf(field, `/${name}`) },
    ...violations
      .filter((violation) => violation.field === name)
      .map(({ description }, index) => ({ id: `${name}-fault-${index}`, ...textOf(description, "caption") })),
  ]);
  const buttons = [
    ...button("submit", "Submit", Object.fromEntries(names.map((name) => [name, { path: `/${name}` }]))),
    ...button("cancel", "Cancel", {}),
  ];
  const children = ["instructions", ...fields.map(({ id }) => id), "submit", "cancel"];
  const components = [
    { id: "root", component: "Column", children },
    { id: "instructions", ...textOf(instructions, "body") },
    ...fields,
    ...buttons,
  ];
  const value = Object.fromEntries(
    Object.entries(form.properties).map(([name, { type }]) => [
      name,
      form_data[name] ?? (type === "boolean" ? false : ""),
    ]),
  );
  return [
    ...(replaced === undefined ? [] : [{ version, deleteSurface: { surfaceId: replaced } }]),
    { version, createSurface: { surfaceId, catalogId: CATALOG } },
    { version, updateComponents: { surfaceId, components } },
    { version, updateDataModel: { surfaceId, value } },
  ];
}

function textOf(text: string, variant: string): { [name: string]: JsonValue } {
  return { component: "Text", text, variant };
}

function inputOf({ type, format }: Field, path: string): { [name: string]: JsonValue } {
  const value = { path };
  if (type === "boolean") return { component: "CheckBox", value };
  if (format === "date") return { component: "DateTimeInput", value, enableDate: true };
  return { component: "TextField", value, variant: type === "number" || type === "integer" ? "number" : "shortText" };
}

function button(name: string, label: string, context: { [name: string]: JsonValue }): { [name: string]: JsonValue }[] {
  return [
    { id: name, component: "Button", child: `${name}-label`, action: { event: { name, context } } },
    { id: `${name}-label`, component: "Text", text: label },
  ];
}
