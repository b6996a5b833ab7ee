import { readFileSync, rmSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { grpcurlProgram } from "./support/grpcurl.js";
import { mavenEnvironment } from "./support/java.js";
import { apt, cache, hasApt, persistently, run, succeed } from "./support/tool.js";

const folder = join(root, "examples", "clients");

/** The page with all commands that run the clients. The tests run each of them. */
const page = readFileSync(join(folder, "README.md"), "utf8");

/** The expected output of each client, except its names of codes. */
const tour = [
  "send: TASK_STATE_COMPLETED hello",
  "stream: 1 ..2 ..3 ..",
  "get: TASK_STATE_COMPLETED",
  "list: 1",
  "resume: 1 ..2 ..3 ..4 ..",
  "cancel: TASK_STATE_CANCELED",
];

const fields = "message.messageId message.parts message.role";

/** Each language with the expected lines after the tour, and the programs that it needs. */
const languages = [
  {
    name: "Go",
    errors: [
      "error: NotFound TASK_NOT_FOUND",
      `invalid: InvalidArgument INVALID_PARAMS ${fields}`,
      "late: DeadlineExceeded",
    ],
    needs: [],
  },
  {
    name: "Python",
    errors: [
      "error: NOT_FOUND TASK_NOT_FOUND",
      `invalid: INVALID_ARGUMENT INVALID_PARAMS ${fields}`,
      "late: DEADLINE_EXCEEDED",
    ],
    needs: [["python3 -c 'import ensurepip'", "python3-venv"]],
  },
  {
    name: "Java",
    errors: [
      "error: NOT_FOUND TASK_NOT_FOUND",
      `invalid: INVALID_ARGUMENT INVALID_PARAMS ${fields}`,
      "late: DEADLINE_EXCEEDED",
    ],
    needs: [
      ["command -v mvn", "maven"],
      ["command -v javac", "default-jdk-headless"],
    ],
  },
  {
    name: "curl",
    errors: [
      "error: NOT_FOUND TASK_NOT_FOUND",
      `invalid: INVALID_ARGUMENT INVALID_PARAMS ${fields}`,
      "late: curl ended with 28",
    ],
    needs: [["command -v jq", "jq"]],
  },
  {
    name: "grpcurl",
    errors: ["error: TASK_NOT_FOUND", `invalid: INVALID_PARAMS ${fields}`, "late: DeadlineExceeded"],
    needs: [["command -v jq", "jq"]],
  },
] as const;

const home = new Home();
let server: ServerProcess;
let path: string;

beforeAll(async () => {
  for (const made of ["go/gen", "java/target", "python/gen"])
    rmSync(join(folder, made), { recursive: true, force: true });
  server = await home.start();
  path = [join(cache, "go-bin"), dirname(await grpcurlProgram()), process.env.PATH].join(delimiter);
}, 600_000);

afterAll(() => home.leave());

/** The commands below a heading of the page. */
function commandsOf(name: string): string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${name}\n`)) ?? "";
  return [...section.matchAll(/^\$ (.*)$/gm)].map(([, command = ""]) => command);
}

/** Runs a command of the page with the server of this test. */
function perform(command: string): Promise<string> {
  const own = { PATH: path, GOBIN: join(cache, "go-bin"), PIP_DISABLE_PIP_VERSION_CHECK: "1" };
  const env = { ...process.env, ...mavenEnvironment, ...own };
  const typed = command
    .replace("localhost:50051", `127.0.0.1:${server.grpcPort}`)
    .replace("http://localhost:8080", server.url);
  return succeed("bash", ["-c", typed], { cwd: root, env });
}

describe("the clients of examples/clients, as their page says", () => {
  it.each(languages)(
    "go through the tour in $name",
    async ({ name, errors, needs }) => {
      for (const [check, debian] of needs) {
        const { code } = await run("bash", ["-c", check]);
        if (code !== 0 && hasApt()) await apt(debian);
      }
      const commands = commandsOf(name);
      const tourOf = commands.pop();
      if (tourOf === undefined) expect.fail("The page has no command.");
      // The commands before the tour install and compile.
      for (const command of commands) await persistently(() => perform(command));
      const printed = await perform(tourOf);
      expect(stripVTControlCharacters(printed).trim().split("\n")).toEqual([...tour, ...errors]);
    },
    400_000,
  );
});
