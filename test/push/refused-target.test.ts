import { afterEach, expect, it } from "vitest";
import { completed, createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";

let server: Server | undefined;
afterEach(() => server?.close({ graceMs: 0 }));

it("a target that is refused is in the log with the rule, without its path, which the client does not hear of", async () => {
  const lines: [object, string][] = [];
  const debug = (facts: object, message: string) => void lines.push([facts, message]);
  server = await createServer({
    agent: {
      card: { name: "Done", description: "Is done.", version: "1.0.0" },
      async *execute() {
        yield completed();
      },
    },
    store: memoryStore(),
    port: 0,
    grpcPort: false,
    logger: { debug, info() {}, warn() {}, error() {} },
    push: { allowHttp: true, ports: [8090], allow: ["127.0.0.0/8"] },
  });
  const send = async (url: string): Promise<string> => {
    const body = {
      message: { messageId: "1", role: "ROLE_USER", parts: [{ text: "Go." }] },
      configuration: { taskPushNotificationConfig: { url } },
    };
    const headers = { "content-type": "application/json" };
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    return (await fetch(`${server?.url}/message:send`, request)).text();
  };
  const refused = [
    await send("http://localhost:8090/a-secret"),
    await send("http://10.0.0.1:8090/"),
    await send("http://127.0.0.1:1/"),
  ];
  const message = "push notifications to this target are forbidden";
  const cause = { requestId: expect.any(String), agent: "Done" };
  expect(lines.filter(([, said]) => said === message)).toEqual([
    [{ target: "http://localhost:8090", why: "the host has a name of inner networks", ...cause }, message],
    [{ target: "http://10.0.0.1:8090", why: expect.stringContaining("must not be reached ("), ...cause }, message],
    [{ target: "http://127.0.0.1:1", why: expect.stringContaining("port"), ...cause }, message],
  ]);
  for (const answer of refused) expect(answer).not.toMatch(/inner networks|private/);
});
