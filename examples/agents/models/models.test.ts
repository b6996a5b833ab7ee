import { readFileSync } from "node:fs";
import { createOpenAI } from "@ai-sdk/openai";
import { createServer, type Server } from "parley-a2a";
import { memoryStore } from "parley-a2a/store/memory";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TestIssuer } from "../../../test/auth/issuer.js";
import type { Rule } from "../offline-model/rules.js";
import { type OfflineModel, startOfflineModel } from "../offline-model/server.js";
import { reports } from "./reports.js";

/** Asks for the subject, saves a report and says so. */
const rules: readonly Rule[] = [
  ({ results }) => {
    const [asked, saved] = results;
    if (saved !== undefined) return { text: "Here it is." };
    if (asked === undefined) return { text: "A report.", calls: [{ name: "ask", input: { question: "Of what?" } }] };
    return { calls: [{ name: "save", input: { name: "report.md", text: `# ${asked.output}\n` } }] };
  },
];

let issuer: TestIssuer;
let model: OfflineModel;
let server: Server;
beforeAll(async () => {
  issuer = await TestIssuer.start();
  model = await startOfflineModel({ rules });
  const openai = createOpenAI({ baseURL: model.baseURL, apiKey: "none" });
  const agent = reports(openai.chat("offline"), issuer.url);
  server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: false });
});
afterAll(async () => {
  await server.close();
  await model.close();
  await issuer.close();
});

interface Task {
  readonly id: string;
  readonly status: { readonly state: string; readonly message?: { readonly parts: unknown } };
  readonly artifacts: readonly { readonly name: string; readonly parts: readonly Record<string, string>[] }[];
}

async function send(text: string, token: string | undefined, taskId?: string): Promise<Response> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...(taskId && { taskId }) };
  return fetch(`${server.url}/message:send`, { method: "POST", headers, body: JSON.stringify({ message }) });
}

const taskIn = async (response: Response): Promise<Task> => ((await response.json()) as { readonly task: Task }).task;

it("the agent of twenty lines asks and writes for users of the issuer", async () => {
  const token = await issuer.token({ aud: "reports" });
  const first = await taskIn(await send("Write a report.", token));
  const question = { parts: [{ text: "Of what?" }] };
  expect(first.status).toMatchObject({ state: "TASK_STATE_INPUT_REQUIRED", message: question });
  const last = await taskIn(await send("Sales", token, first.id));
  expect(last.status.state).toBe("TASK_STATE_COMPLETED");
  expect(last.artifacts).toMatchObject([
    { name: "answer", parts: [{ text: "A report." }] },
    { name: "report.md", parts: [{ filename: "report.md", mediaType: "text/markdown", raw: btoa("# Sales\n") }] },
    { name: "answer", parts: [{ text: "Here it is." }] },
  ]);
  // The answer did not ask the model for its question again.
  expect(model.requests).toHaveLength(3);
});

it("it refuses others", async () => {
  expect((await send("Write.", undefined)).status).toBe(401);
  expect((await send("Write.", await issuer.token({ aud: "other" }))).status).toBe(401);
});

it("it has at most twenty lines", () => {
  const source = readFileSync(new URL("reports.ts", import.meta.url), "utf8");
  const lines = source.split("\n").filter((line) => line.trim() !== "" && !/^\s*(?:\/\/|\/\*\*)/.test(line));
  expect(lines.length).toBeLessThanOrEqual(20);
});
