import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { pythonEnvironment, pythonWith } from "./support/python.js";
import { succeed } from "./support/tool.js";

/*
 * Peculiarities of the library's client, for which the server has no workaround:
 *
 * - Over JSON-RPC and HTTP+JSON a call fails after five seconds without a byte, unless the HTTP client has another
 *   timeout. Streams have heartbeats, but a send that waits for its task does not.
 * - Over JSON-RPC it reads no answer with an HTTP error status.
 */

const here = join(root, "test", "interop", "python-sdk");

const home = new Home();
let server: ServerProcess;
let python: string;

beforeAll(async () => {
  python = await pythonWith("python-a2a-sdk-1.3.0", join(here, "requirements.txt"));
  server = await home.start();
});

afterAll(() => home.leave());

describe("the program of docs/bindings/clients.md", () => {
  it("prints the answer of the example agent", async () => {
    const page = readFileSync(join(root, "docs", "bindings", "clients.md"), "utf8");
    const [, program = ""] = /^```python\n([\s\S]*?)^```$/m.exec(page) ?? [];
    const env = { ...process.env, ...pythonEnvironment };
    expect(await succeed(python, ["-c", program, server.url], { env })).toBe("hello\n");
  });
});

const transports = { JSONRPC: "JsonRpcTransport", "HTTP+JSON": "RestTransport", GRPC: "GrpcTransport" };

describe.each(Object.entries(transports))("the Python library's client over %s", (binding, transport) => {
  /** The client's results by step. */
  let seen: Readonly<Record<string, JsonValue>>;

  beforeAll(async () => {
    const env = { ...process.env, ...pythonEnvironment };
    seen = JSON.parse(await succeed(python, [join(here, "client.py"), server.url, binding], { env }));
  });

  it("sends messages and carries parts", () => {
    expect(seen.transport).toBe(transport);
    expect(seen.send).toMatchObject([
      {
        task: {
          contextId: `python ${binding}`,
          status: { state: "TASK_STATE_COMPLETED" },
          artifacts: [{ name: "echo", parts: [{ text: "hello" }] }],
        },
      },
    ]);
    expect(seen.reply).toMatchObject([{ message: { parts: [{ text: "hi" }] } }]);
    const parts = [{ raw: "AAH+/w==" }, { url: "https://example.org/ü" }];
    expect(seen.parts).toMatchObject([{ task: { artifacts: [{ parts }] } }]);
  });

  it("streams", () => {
    const kinds = (step: JsonValue | undefined) => (step as JsonObject[]).map((event) => Object.keys(event)[0]);
    const [update, piece] = ["statusUpdate", "artifactUpdate"];
    expect(kinds(seen.stream)).toEqual(["task", update, piece, piece, piece, update]);
    expect(kinds(seen.streamedReply)).toEqual(["message"]);
  });

  it("stays with a stream that is silent for longer than it waits for a byte", () => {
    expect((seen.silence as JsonObject[]).at(-1)).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } },
    });
  });

  it("gets and lists tasks", () => {
    const [{ task }] = seen.send as [{ task: JsonObject }];
    expect(seen.get).toEqual(task);
    expect(seen.list).toMatchObject({ tasks: [{ id: task.id }], totalSize: 1, pageSize: 50 });
  });

  it("goes on with a task that asks", () => {
    expect(seen.ask).toMatchObject([{ task: { status: { state: "TASK_STATE_INPUT_REQUIRED" } } }]);
    expect(seen.answer).toMatchObject([{ task: { status: { state: "TASK_STATE_COMPLETED" }, history: [{}, {}, {}] } }]);
  });

  it("cancels a task that it is subscribed to", () => {
    expect((seen.watched as JsonValue[]).at(-1)).toBe("TASK_STATE_CANCELED");
  });

  it("tells errors apart, also those of streams", () => {
    for (const step of ["unknown", "noTask"]) expect(seen[step]).toMatchObject({ error: "TaskNotFoundError" });
    expect(seen.tooLate).toMatchObject({ error: "TaskNotCancelableError" });
    for (const step of ["over", "noStream"]) expect(seen[step]).toMatchObject({ error: "UnsupportedOperationError" });
    expect(seen.noPush).toMatchObject({ error: "PushNotificationNotSupportedError" });
    for (const step of ["invalid", "badStream"]) {
      const message = expect.stringContaining("message.messageId");
      expect(seen[step]).toMatchObject({ error: "InvalidParamsError", message });
    }
    expect(seen.pageTooLarge).toMatchObject({ error: "InvalidParamsError" });
  });
});
