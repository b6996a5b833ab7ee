import { afterEach, expect, it } from "vitest";
import { createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { Receiver } from "./receiver.js";

let server: Server | undefined;
let receiver: Receiver | undefined;
afterEach(async () => {
  await server?.close();
  await receiver?.stop();
});

it("nothing is sent to a webhook whose configuration was deleted [SRV-PCFG-14]", async () => {
  receiver = await Receiver.start();
  const push = { allowHttp: true, ports: [receiver.port], allow: ["127.0.0.1"] };
  const limits = { shutdownGraceMs: 50 };
  server = await createServer({ agent: obedient("x"), store: memoryStore(), push, limits, port: 0, grpcPort: false });
  const call = async (method: string, path: string, body?: object): Promise<{ task: { id: string } }> => {
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const sent = { method, headers, body: body === undefined ? null : JSON.stringify(body) };
    return (await (await fetch(`${server?.url}${path}`, sent)).json()) as { task: { id: string } };
  };
  const say = (text: string, taskId = "") => ({ messageId: text, role: "ROLE_USER", parts: [{ text }], taskId });
  const { task } = await call("POST", "/message:send", { message: say("ask x") });
  const configs = `/tasks/${task.id}/pushNotificationConfigs`;
  for (const id of ["gone", "kept"]) await call("POST", configs, { id, url: receiver.url(`/${id}`) });
  await call("POST", "/message:send", { message: say("ask y", task.id) });
  for (const id of ["gone", "kept"])
    await expect.poll(() => receiver?.of(`/${id}`).length, { timeout: 20_000 }).toBe(1);
  await call("DELETE", `${configs}/gone`);
  await call("POST", "/message:send", { message: say("stream 5", task.id) });
  await expect.poll(() => receiver?.of("/kept").at(-1)?.body, { timeout: 20_000 }).toContain("TASK_STATE_COMPLETED");
  expect(receiver.of("/gone")).toHaveLength(1);
});
