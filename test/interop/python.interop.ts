import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { Home } from "../e2e/support/server-process.js";
import { pythonEnvironment, pythonWith } from "./support/python.js";
import { cache, succeed } from "./support/tool.js";

const here = join(root, "test", "interop", "python");

const home = new Home();
/** The client's results by step. */
let seen: Readonly<Record<string, JsonValue>>;

beforeAll(async () => {
  const python = await pythonWith("python-grpcio-1.85.1", join(here, "requirements.txt"));
  const generated = await generate(python);
  const server = await home.start();
  const environment = { ...process.env, PYTHONPATH: generated, ...pythonEnvironment };
  const printed = await succeed(python, [join(here, "client.py"), `127.0.0.1:${server.grpcPort}`], {
    env: environment,
  });
  seen = JSON.parse(printed);
});

afterAll(() => home.leave());

/** Generates the client from the current contract. The Python packages contain the google protos. */
async function generate(python: string): Promise<string> {
  const out = join(cache, "python-generated");
  mkdirSync(out, { recursive: true });
  const find = "import google.api, os, sys; sys.stdout.write(os.path.dirname(os.path.dirname(google.api.__path__[0])))";
  const packages = await succeed(python, ["-c", find]);
  const paths = [`-I${join(root, "proto")}`, `-I${packages}`];
  const outputs = [`--python_out=${out}`, `--grpc_python_out=${out}`];
  await succeed(python, ["-m", "grpc_tools.protoc", ...paths, ...outputs, "lf/a2a/v1/a2a.proto"]);
  return out;
}

describe("a Python client", () => {
  it("sends a message", () => {
    expect(seen.send).toMatchObject({
      task: {
        contextId: "python",
        status: { state: "TASK_STATE_COMPLETED" },
        artifacts: [{ name: "echo", parts: [{ text: "hello" }] }],
      },
    });
    expect(seen.reply).toMatchObject({ message: { role: "ROLE_AGENT", parts: [{ text: "hi" }] } });
  });

  it("reads a stream", () => {
    const kinds = (seen.stream as JsonObject[]).map((message) => Object.keys(message)[0]);
    const [update, piece] = ["statusUpdate", "artifactUpdate"];
    expect(kinds).toEqual(["task", update, piece, piece, piece, update]);
  });

  it("gets and lists tasks", () => {
    const { task } = seen.send as { task: JsonObject };
    expect(seen.get).toEqual(task);
    // Lists leave out artifacts unless requested.
    const { artifacts: _, ...listed } = task;
    expect(seen.list).toEqual({ tasks: [listed], pageSize: 5, totalSize: 1 });
  });

  it("cancels a task, and is told of it where it subscribes", () => {
    expect(seen.canceled).toMatchObject({ status: { state: "TASK_STATE_CANCELED" } });
    const watched = seen.watched as JsonObject[];
    expect(watched[0]).toHaveProperty("task");
    expect(watched.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_CANCELED" } } });
  });

  it("leaves a stream without stopping the task", () => {
    expect(seen.left).toMatchObject({ status: { state: "TASK_STATE_WORKING" } });
  });

  it("is told that there are no push notifications and no extended card", () => {
    for (const step of ["createPush", "getPush", "listPush", "deletePush"]) {
      expect(seen[step], step).toMatchObject(refused("FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"));
    }
    expect(seen.extendedCard).toMatchObject(refused("FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"));
  });

  it("reads the details of errors", () => {
    expect(seen.unknown).toEqual({
      error: {
        code: "NOT_FOUND",
        message: "Task not found: it does not exist or is not accessible.",
        details: [
          {
            type: "google.rpc.ErrorInfo",
            reason: "TASK_NOT_FOUND",
            domain: "a2a-protocol.org",
            metadata: { taskId: "nobody" },
          },
        ],
      },
    });
    const { error } = seen.invalid as { error: { code: string; details: JsonObject[] } };
    expect(error.code).toBe("INVALID_ARGUMENT");
    const [, violations] = error.details as [JsonObject, { fieldViolations: { field: string }[] }];
    expect(violations.fieldViolations.map(({ field }) => field).toSorted()).toEqual([
      "message.messageId",
      "message.parts",
      "message.role",
    ]);
    expect(seen.version).toMatchObject(refused("FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"));
  });

  it("has its deadline kept", () => {
    expect(seen.late).toMatchObject({ error: { code: "DEADLINE_EXCEEDED" } });
  });
});

function refused(code: string, reason: string): object {
  return { error: { code, details: [{ type: "google.rpc.ErrorInfo", reason }] } };
}
