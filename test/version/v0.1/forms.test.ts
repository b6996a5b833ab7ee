import { describe, expect, it } from "vitest";
import { artifact } from "../../../src/agent/event.js";
import { Spoken, v03 } from "./server.js";

type Json = Record<string, unknown>;

const expense = {
  type: "object",
  properties: {
    amount: { type: "number", format: "number", title: "Amount", minimum: 1 },
    purpose: { type: "string" },
    paid: { type: "boolean" },
    date: { type: "string", format: "date" },
  },
  required: ["amount", "purpose"],
} as const;

const asking = () =>
  new Spoken({
    async *execute(turn) {
      yield artifact({ data: yield* turn.form(expense, { text: "What for?", data: { purpose: "Lunch" } }) });
    },
  });

/** A field as the first user interface rendered it: whatever the type, its value is a text. */
interface Element {
  readonly name: string;
  readonly label: string;
  readonly type: string;
  readonly value: unknown;
  readonly required: boolean;
}

/** Makes the fields of a form as the first user interface did; data of unknown fields made it fail. */
function elementsOf(status: Json): { instructions: string; elements: Element[] } {
  const { parts } = status.message as { parts: { type: string; data?: Json }[] };
  const data = parts.map((part) => part.data).find((each) => each?.type === "form");
  const { form, form_data, instructions } = (data ?? {}) as Record<string, Json>;
  const { properties, required } = form as { properties: Record<string, Json>; required: string[] };
  for (const name of Object.keys(form_data ?? {})) expect(properties).toHaveProperty(name);
  const elements = Object.entries(properties).map(([name, { title, format }]) => ({
    name,
    label: String(title ?? name),
    type: String(format ?? "text"),
    value: form_data?.[name] ?? "",
    required: required.includes(name),
  }));
  return { instructions: String(instructions), elements };
}

describe("a form for the first user interface, over A2A 0.1", () => {
  it("is rendered, filled in with texts, asked again and accepted", async () => {
    const spoken = asking();
    const send = async (part: Json): Promise<Json> =>
      (await spoken.result("tasks/send", { id: "expense-1", message: { role: "user", parts: [part] } })) as Json;
    const submit = ({ elements }: ReturnType<typeof elementsOf>, values: Json): Promise<Json> => {
      const data = Object.fromEntries(elements.map(({ name, value }) => [name, values[name] ?? value]));
      return send({ type: "data", data });
    };
    const asked = await send({ type: "text", text: "go" });
    expect(asked).toMatchObject({ status: { state: "input-required" } });
    const form = elementsOf(asked.status as Json);
    expect(form).toEqual({
      instructions: "What for?",
      elements: [
        { name: "amount", label: "Amount", type: "number", value: "", required: true },
        { name: "purpose", label: "purpose", type: "text", value: "Lunch", required: true },
        { name: "paid", label: "paid", type: "text", value: "", required: false },
        { name: "date", label: "date", type: "date", value: "", required: false },
      ],
    });
    const again = await submit(form, { amount: "0", paid: "true" });
    expect(again).toMatchObject({
      status: { state: "input-required", message: { parts: [{ text: "What for?\namount: must be >= 1" }, {}] } },
    });
    const corrected = elementsOf(again.status as Json);
    expect(corrected.elements.map(({ value }) => value)).toEqual(["0", "Lunch", "true", ""]);
    const done = await submit(corrected, { amount: "20.50" });
    expect(done).toMatchObject({
      status: { state: "completed" },
      artifacts: [{ parts: [{ data: { amount: 20.5, purpose: "Lunch", paid: true } }] }],
    });
  });

  it("is declined by its button", async () => {
    const spoken = asking();
    const say = (text: string): Promise<Json> =>
      spoken.result("tasks/send", { id: "expense-2", message: { role: "user", parts: [{ type: "text", text }] } });
    await say("go");
    expect(await say("rejected form entry")).toMatchObject({
      status: { state: "failed", message: { parts: [{ text: "The form was declined." }] } },
    });
  });
});

describe.each([
  ["0.3", v03],
  ["0.2", {}],
])("a form over A2A %s", (_version, headers) => {
  it("reaches the client, and the answer the agent", async () => {
    const spoken = asking();
    const send = (part: Json, more: Json = {}): Promise<Json> => {
      const message = { messageId: `m-${Math.random()}`, role: "user", kind: "message", parts: [part], ...more };
      return spoken.result("message/send", { message }, headers);
    };
    const asked = await send({ kind: "text", text: "go" });
    expect(elementsOf(asked.status as Json).elements).toHaveLength(4);
    const done = await send({ kind: "data", data: { amount: 1, purpose: "Taxi" } }, { taskId: asked.id });
    expect(done).toMatchObject({ artifacts: [{ parts: [{ kind: "data", data: { amount: 1, purpose: "Taxi" } }] }] });
  });
});
