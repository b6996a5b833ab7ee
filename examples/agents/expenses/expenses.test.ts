import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { dataOf, type ReadableTask, TaskState, textOf } from "parley-a2a";
import { type AgentTest, type TestSendOptions, testAgent } from "parley-a2a/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Served, serve } from "../test-support/callers.js";
import { describeKills } from "../test-support/kill-loop.js";
import { describeTalks } from "../test-support/talks.js";
import { describeWireExamples } from "../test-support/wire-examples.js";
import { agent } from "./agent.js";
import { rules } from "./rules.js";

const A2UI = "https://a2ui.org/a2a-extension/a2ui/v0.9.1";
const tests: AgentTest[] = [];
afterEach(async () => {
  await Promise.all(tests.splice(0).map((test) => test.close()));
});

function begin(): AgentTest {
  const begun = testAgent(agent);
  tests.push(begun);
  return begun;
}

/** A task's state, the text and the data of its status, and the data of its artifacts. */
function seen({ status, artifacts }: ReadableTask): {
  readonly state: string | undefined;
  readonly text: string;
  readonly data: JsonValue[];
  readonly results: JsonValue[];
} {
  return {
    state: TaskState[status?.state ?? 0],
    text: textOf(status?.message),
    data: dataOf(status?.message),
    results: artifacts.flatMap(dataOf),
  };
}

async function asked(
  test: AgentTest,
  text: string,
  options: TestSendOptions = {},
): Promise<[ReadableTask, JsonObject]> {
  const task = await test.send(text, options);
  expect(seen(task).state).toBe("INPUT_REQUIRED");
  return [task, seen(task).data[0] as JsonObject];
}

const lunch = "Can you reimburse me $20 for my lunch with the clients?";

describe("the expenses agent", () => {
  it("asks for what is missing, for an approval, and reimburses", async () => {
    const test = begin();
    const [task, form] = await asked(test, lunch);
    expect(form).toMatchObject({
      type: "form",
      form: { required: ["date", "amount", "currency", "purpose"] },
      form_data: { amount: 20, currency: "USD", purpose: "lunch with the clients" },
    });
    const filled = form.form_data as JsonObject;
    const wrong = seen(await test.send([{ data: { ...filled, request_id: "request_id_1", date: "soon" } }], { task }));
    expect((wrong.data[0] as { violations: { field: string }[] }).violations.map(({ field }) => field)).toEqual([
      "request_id",
      "date",
    ]);
    await test.crash();
    const approval = seen(await test.send([{ data: { ...filled, date: "2025-05-02" } }], { task }));
    expect(approval.text).toBe("Approve the reimbursement of 20 USD for lunch with the clients?");
    await test.crash();
    const ended = seen(await test.send([{ data: { approved: true } }], { task }));
    expect(ended).toMatchObject({
      state: "COMPLETED",
      results: [{ ...filled, date: "2025-05-02", status: "approved" }],
    });
  });

  it("understands answers that are texts", async () => {
    const test = begin();
    const [task] = await asked(test, "Reimburse my taxi to the airport");
    expect(seen(await test.send("It was 31.50 EUR on 2025-05-03.", { task })).text).toMatch(/^Approve .* 31\.5 EUR/);
    expect(seen(await test.send("Hm.", { task })).state).toBe("INPUT_REQUIRED");
    expect(seen(await test.send("No.", { task }))).toMatchObject({
      state: "REJECTED",
      results: [{ status: "rejected" }],
    });
  });

  it("asks for no form when nothing is missing", async () => {
    const [, form] = await asked(begin(), "Reimburse 12 EUR for the parking of 2025-05-04");
    expect(form).toMatchObject({ form: { required: ["approved"] } });
  });

  it("ends when the form is declined", async () => {
    const test = begin();
    const [task] = await asked(test, lunch);
    expect(seen(await test.send("rejected form entry", { task }))).toMatchObject({
      state: "FAILED",
      text: "The form was declined.",
    });
  });

  it("remembers the requests of a conversation, and no others", async () => {
    const test = begin();
    const [task, form] = await asked(test, "Reimburse 12 EUR for the parking of 2025-05-04");
    expect(form.id).toBe("approval");
    const { results } = seen(await test.send("yes", { task }));
    const id = (results[0] as { request_id: string }).request_id;
    await test.restart();
    const question = `What about ${id}?`;
    expect(seen(await test.send(question, { contextId: task.contextId })).text).toBe(
      "The reimbursement of 12 EUR for parking is approved.",
    );
    expect(seen(await test.send(question)).text).toBe(`There is no request ${id} in this conversation.`);
  });
});

/** Renders messages like a client of A2UI: it keeps surfaces, and resolves the values of an action. */
class Renderer {
  readonly surfaces = new Map<string, { components: Component[]; model: JsonObject }>();

  show(messages: readonly JsonObject[]): void {
    for (const message of messages) {
      expect(message.version).toBe("v0.9.1");
      const { createSurface, updateComponents, updateDataModel, deleteSurface } = message as unknown as Record<
        string,
        Surface
      >;
      if (createSurface !== undefined) {
        expect(this.surfaces.has(createSurface.surfaceId)).toBe(false);
        this.surfaces.set(createSurface.surfaceId, { components: [], model: {} });
      }
      if (deleteSurface !== undefined) expect(this.surfaces.delete(deleteSurface.surfaceId)).toBe(true);
      const change = updateComponents ?? updateDataModel;
      const surface = change && this.surfaces.get(change.surfaceId);
      if (updateComponents?.components !== undefined) surface?.components.push(...updateComponents.components);
      if (updateDataModel?.value !== undefined) Object.assign(surface?.model ?? {}, updateDataModel.value);
    }
  }

  /** The surface that is shown; it has to be the only one, and complete. */
  get shown(): { id: string; components: readonly Component[]; model: JsonObject } {
    const [[id, surface] = []] = [...this.surfaces];
    if (id === undefined || surface === undefined) throw new Error("No surface is shown.");
    expect(this.surfaces.size).toBe(1);
    const ids = surface.components.map((component) => component.id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { children = [], child = "root" } of surface.components) {
      for (const each of [...children, child]) expect(ids).toContain(each);
    }
    return { id, ...surface };
  }

  /** The user fills in fields and presses a button. */
  press(button: string, values: JsonObject = {}): { data: JsonValue }[] {
    const { id, components, model } = this.shown;
    Object.assign(model, values);
    const { name, context } = components.find((component) => component.id === button)?.action?.event ?? {};
    const resolved = Object.entries(context ?? {}).map(([key, { path }]) => [key, model[path.slice(1)] ?? null]);
    const about = { surfaceId: id, sourceComponentId: button, timestamp: "2025-05-02T12:00:00Z" };
    return [
      { data: [{ version: "v0.9.1", action: { name: name ?? "", ...about, context: Object.fromEntries(resolved) } }] },
    ];
  }
}

interface Surface {
  readonly surfaceId: string;
  readonly components?: readonly Component[];
  readonly value?: JsonObject;
}

interface Component {
  readonly id: string;
  readonly component: string;
  readonly text?: string;
  readonly children?: readonly string[];
  readonly child?: string;
  readonly action?: { readonly event: { readonly name: string; readonly context: Record<string, { path: string }> } };
}

describe("the expenses agent for a client with A2UI", () => {
  it("shows its forms as surfaces, and takes their actions as answers", async () => {
    const test = begin();
    const renderer = new Renderer();
    const extensions = [A2UI];
    const show = (task: ReadableTask): ReadableTask => {
      const [, surface] = seen(task).data;
      renderer.show(surface as JsonObject[]);
      return task;
    };
    const task = show(await test.send(lunch, { extensions }));
    const { components, model } = renderer.shown;
    const kinds = Object.fromEntries(components.map(({ id, component }) => [id, component]));
    expect(kinds).toMatchObject({ root: "Column", date: "DateTimeInput", amount: "TextField", submit: "Button" });
    expect(model).toMatchObject({ date: "", amount: 20, purpose: "lunch with the clients" });
    show(await test.send(renderer.press("submit", { amount: "-3" }), { task, extensions }));
    const faults = renderer.shown.components.flatMap(({ id, text }) => (id.includes("fault") ? [id, text] : []));
    expect(faults).toEqual(["date-fault-0", "Invalid ISO date", "amount-fault-0", expect.stringMatching(/>0/)]);
    const filled = { amount: "20.5", date: "2025-05-02" };
    show(await test.send(renderer.press("submit", filled), { task, extensions }));
    expect(Object.keys(renderer.shown.model)).toEqual(["approved"]);
    const ended = await test.send(renderer.press("submit", { approved: true }), { task, extensions });
    expect(seen(ended)).toMatchObject({ state: "COMPLETED", results: [{ amount: 20.5, status: "approved" }] });
  });

  it("takes its cancel button for a declined form", async () => {
    const test = begin();
    const renderer = new Renderer();
    const extensions = [A2UI];
    const task = await test.send(lunch, { extensions });
    renderer.show(seen(task).data[1] as JsonObject[]);
    const ended = await test.send(renderer.press("cancel"), { task, extensions });
    expect(seen(ended)).toMatchObject({ state: "FAILED", text: "The form was declined." });
  });
});

let served: Served;
beforeAll(async () => {
  served = await serve(agent);
});
afterAll(() => served.close());

describeTalks(
  () => served,
  [
    {
      title: "asks for what is missing and for an approval",
      exchanges: [
        { says: lunch, state: "input-required", text: "Please fill in the details of the expense." },
        {
          says: "It was on 2025-05-02.",
          state: "input-required",
          text: "Approve the reimbursement of 20 USD for lunch with the clients?",
          progress: [],
        },
        {
          says: "yes",
          text: "20 USD for lunch with the clients: it will be paid to you.",
          progress: ["Processing the reimbursement request..."],
        },
        {
          says: "What is the status of my request?",
          text: "The reimbursement of 20 USD for lunch with the clients is approved.",
        },
      ],
    },
  ],
);

describeWireExamples(new URL("README.md", import.meta.url), () => served);

describeKills({
  module: new URL("agent.ts", import.meta.url).href,
  rules,
  says: [lunch, "It was on 2025-05-02.", "yes", "What is the status of my request?"],
});
