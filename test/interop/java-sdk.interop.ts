import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { javaClass, javaProject } from "./support/java.js";
import { succeed } from "./support/tool.js";

/*
 * The published Java client, 1.0.0.Alpha3, in the parts that it shares with version 1.0. Its gRPC is that of a draft,
 * with another package and so other paths. Its other deviations:
 *
 * - It refuses a card with unknown members. A card requested with `A2A-Version: 1.0` has none.
 * - Over JSON-RPC it takes the page size for the number of tasks on the page, and refuses a shorter list.
 * - Over HTTP+JSON it cannot read an error with details.
 */

const home = new Home();
let server: ServerProcess;
let folder: string;

beforeAll(async () => {
  folder = await javaProject({ name: "java-sdk-1.0.0.Alpha3-2", from: join(root, "test", "interop", "java-sdk") });
  server = await home.start();
});

afterAll(() => home.leave());

const steps = [
  expect.stringMatching(/^card: (?:whole|of 1\.0 alone)$/),
  "send: TASK_STATE_COMPLETED hello",
  "message: hello",
  expect.stringMatching(/^stream: TASK_STATE_COMPLETED 1 \.+2 \.+3 \.+$/),
  expect.stringMatching(/^question: TASK_STATE_INPUT_REQUIRED, TASK_STATE_COMPLETED/),
  "subscription: TASK_STATE_CANCELED, TASK_STATE_CANCELED",
  "get: TASK_STATE_COMPLETED hello",
];

it.each([
  [
    "JSONRPC",
    ["list failed: InvalidParamsError", "nobody failed: TaskNotFoundError", "cancel failed: TaskNotCancelableError"],
  ],
  [
    "HTTP+JSON",
    ["list: 1", "nobody failed: UnsupportedOperationException", "cancel failed: UnsupportedOperationException"],
  ],
])("the Java library calls an agent over %s", async (binding, rest) => {
  const printed = await succeed("java", [...javaClass(folder, "Caller"), server.url, binding]);
  expect(printed.trim().split("\n")).toEqual([...steps, ...rest]);
});
