import { afterEach, expect, it, vi } from "vitest";
import { createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { gates, obedient } from "../conformance/agents.js";
import { Receiver } from "./receiver.js";

vi.setConfig({ testTimeout: 60_000 });

let server: Server | undefined;
let receiver: Receiver | undefined;
afterEach(async () => {
  await server?.close();
  await receiver?.stop();
});

it.each(["1.0", "0.3"])(
  "notifications of a task with steps, to a client of %s, say nothing of a step",
  async (version) => {
    receiver = await Receiver.start();
    server = await createServer({
      agent: obedient("stepping"),
      store: memoryStore(),
      push: { allowHttp: true, ports: [receiver.port], allow: ["127.0.0.1"] },
      port: 0,
      grpcPort: false,
    });
    const gate = `push ${version}`;
    gates.open(gate);
    const config = { url: receiver.url("/hook") };
    const isOld = version === "0.3";
    const parts = [isOld ? { kind: "text", text: `unseen ${gate}` } : { text: `unseen ${gate}` }];
    const message = { messageId: "m", role: isOld ? "user" : "ROLE_USER", parts, ...(isOld && { kind: "message" }) };
    const configuration = { [isOld ? "pushNotificationConfig" : "taskPushNotificationConfig"]: config };
    const method = isOld ? "message/send" : "SendMessage";
    const response = await fetch(server.url, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": version },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { message, configuration } }),
    });
    expect(await response.json()).toMatchObject({ result: expect.anything() });
    const { generationsOf } = receiver;
    const came = (): number[] => generationsOf.call(receiver, "/hook");
    // Clients of 0.3 get the whole task at each of its statuses.
    const expected = isOld ? [1, 2, 5] : [1, 2, 3, 4, 5];
    await expect.poll(came, { timeout: 30_000 }).toEqual(expected);
    expect(receiver.hits.map(({ body }) => body).join()).not.toMatch(/"step|unseen"/);
  },
);
