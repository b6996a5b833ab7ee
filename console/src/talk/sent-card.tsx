import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Check, MousePointerClick, X } from "lucide-react";
import type { ReactNode } from "react";
import type { Message, Part } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { dataOf } from "../../../src/client/web.js";
import { JsonView } from "../content/json-view.js";
import { talkWords } from "../texts/talk.js";
import { Facts } from "../ui/parts.js";
import { a2uiMessagesOf } from "./a2ui.js";
import { formOf } from "./form-part.js";
import css from "./talk.module.css";

interface SentCardProps {
  readonly part: Part;
  readonly question: Message | undefined;
}

/** Shows sent data: the answer of a form with the names of its fields, an action of a surface, or other data. */
export function SentCard({ part, question }: SentCardProps): ReactNode {
  const [value] = dataOf({ parts: [part] });
  const { form, surface } = talkWords;
  const action = actionOf(part);
  if (action !== undefined) {
    return (
      <Card
        icon={<MousePointerClick size={15} aria-hidden="true" />}
        title={surface.sent(action.name)}
        data={action.context}
      />
    );
  }
  if (!isObject(value)) return value === undefined ? undefined : <JsonView value={value} />;
  if (value.type === "form" && value.declined === true) {
    return <Card icon={<X size={15} aria-hidden="true" />} title={form.declined} data={{}} />;
  }
  const asked = question?.parts.map(formOf).find((each) => each !== undefined);
  if (Object.values(value).some((each) => typeof each === "object" && each !== null)) return <JsonView value={value} />;
  return (
    <Card
      icon={<Check size={15} aria-hidden="true" />}
      title={form.sent}
      data={value}
      fields={asked?.schema.properties as JsonObject | undefined}
    />
  );
}

interface CardProps {
  readonly icon: ReactNode;
  readonly title: string;
  readonly data: JsonObject;
  readonly fields?: JsonObject | undefined;
}

function Card({ icon, title, data, fields }: CardProps): ReactNode {
  const rows = Object.entries(data).slice(0, 100);
  return (
    <div className={css.sent}>
      <strong className={css.sentHead}>
        {icon}
        {title}
      </strong>
      <Facts rows={rows.map(([name, value]) => [titleOf(fields?.[name], name), fieldValueText(value)] as const)} />
    </div>
  );
}

function titleOf(field: JsonValue | undefined, name: string): string {
  const title = isObject(field) ? field.title : undefined;
  return typeof title === "string" ? title : name;
}

function fieldValueText(value: JsonValue): string {
  if (typeof value === "boolean") return value ? talkWords.form.yes : talkWords.form.no;
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, 2_000);
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function actionOf(part: Part): { readonly name: string; readonly context: JsonObject } | undefined {
  for (const message of a2uiMessagesOf(part) ?? []) {
    const action = isObject(message) ? message.action : undefined;
    if (!isObject(action) || typeof action.name !== "string") continue;
    return { name: action.name, context: isObject(action.context) ? action.context : {} };
  }
  return undefined;
}
