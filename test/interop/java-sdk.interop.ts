import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { apt, hasApt, installed, run, succeed } from "./support/tool.js";

/*
 * The published client in Java, 1.0.0.Alpha3, over what it shares with version 1.0. Its gRPC is that of a draft: another package, and so
 * other paths. Of the rest it does otherwise:
 *
 * - A card with members that it does not know is refused; one that is asked for with `A2A-Version: 1.0` has none.
 * - Over JSON-RPC it takes a page size for the number of tasks on the page, and refuses a list that has fewer.
 * - Over HTTP+JSON it cannot read an error with details.
 */

const home = new Home();
const here = join(root, "test", "interop", "java-sdk");
let server: ServerProcess;
let folder: string;

beforeAll(async () => {
  folder = await installed({
    name: "java-sdk-1.0.0.Alpha3-1",
    needs: "Java 17 or later with Maven, and access to Maven Central",
    install: async (into) => {
      if ((await run("bash", ["-c", "command -v mvn && command -v javac"])).code !== 0 && hasApt()) {
        await apt("maven");
        await apt("default-jdk-headless");
      }
      cpSync(here, into, { recursive: true });
      await succeed("mvn", ["-q", "-B", "compile", "dependency:build-classpath", "-Dmdep.outputFile=classpath"], {
        cwd: into,
      });
    },
  });
  server = await home.start();
});

afterAll(() => home.leave());

const steps = [
  expect.stringMatching(/^card: (?:whole|of 1\.0 alone)$/),
  "send: TASK_STATE_COMPLETED hello",
  "message: hello",
  expect.stringMatching(/^stream: TASK_STATE_COMPLETED 1 \.+2 \.+3 \.+$/),
  expect.stringMatching(/^question: TASK_STATE_INPUT_REQUIRED, TASK_STATE_COMPLETED/),
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
  const classpath = [join(folder, "target", "classes"), readFileSync(join(folder, "classpath"), "utf8").trim()].join(
    ":",
  );
  const printed = await succeed("java", ["-cp", classpath, "Caller", server.url, binding]);
  expect(printed.trim().split("\n")).toEqual([...steps, ...rest]);
});
