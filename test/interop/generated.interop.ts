import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { grpcurlProgram } from "./support/grpcurl.js";
import { mavenEnvironment } from "./support/java.js";
import { apt, cache, hasApt, persistently, run, succeed } from "./support/tool.js";

/** The page with the instructions. The tests try every file and every command. */
const page = readFileSync(join(root, "docs", "bindings", "generated-clients.md"), "utf8");

const home = new Home();
const work = join(cache, "generated");
const goBin = join(cache, "go-bin");
let server: ServerProcess;

beforeAll(async () => {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  server = await home.start();
  const grpcurl = await grpcurlProgram();
  for (const { command } of commandsOf("")) await perform(command, work, [dirname(grpcurl)]);
}, 600_000);

afterAll(() => home.leave());

interface Command {
  readonly command: string;
  /** Expected output, if the page shows it. */
  readonly prints: string;
}

/** The commands that the page shows for a folder. */
function commandsOf(folder: string): readonly Command[] {
  const blocks = [...page.matchAll(/^```console\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text);
  const typed = blocks
    .flatMap((text) => text.split(/^(?=\w*\$ )/m))
    .map((text) => /^(\w*)\$ (.*)\n([\s\S]*)$/.exec(text));
  return typed.flatMap((match) => (match?.[1] === folder ? [{ command: match[2] ?? "", prints: match[3] ?? "" }] : []));
}

/** Writes the files that the page shows for a folder. */
function writeFiles(folder: string): void {
  for (const [, path = "", text = ""] of page.matchAll(/^`([\w./-]+)`:\n\n```\w+\n([\s\S]*?)^```/gm)) {
    if (!path.startsWith(`${folder}/`)) continue;
    mkdirSync(dirname(join(work, path)), { recursive: true });
    writeFileSync(join(work, path), text);
  }
}

/** Runs a command of the page with the server of this test. */
function perform(command: string, cwd: string, path: readonly string[]): Promise<string> {
  const own = { PATH: [...path, process.env.PATH].join(delimiter), GOBIN: goBin };
  const env = { ...process.env, ...mavenEnvironment, ...own };
  return succeed("bash", ["-c", command.replace("localhost:50051", `127.0.0.1:${server.grpcPort}`)], { cwd, env });
}

/** Follows the page's instructions for a folder. */
async function follow(folder: string, path: readonly string[]): Promise<void> {
  writeFiles(folder);
  const commands = commandsOf(folder);
  expect(commands.at(-1)?.prints).toBe("TASK_STATE_COMPLETED hello\n");
  for (const { command, prints } of commands) {
    const type = () => perform(command, join(work, folder), path);
    // Commands without output install or compile.
    const printed = await (prints === "" ? persistently(type) : type());
    if (prints !== "") expect(printed).toContain(prints);
  }
}

describe("a client that is generated as the page says", () => {
  it("works in Go", async () => {
    mkdirSync(join(work, "go"));
    copyFileSync(join(work, "a2a.binpb"), join(work, "go", "a2a.binpb"));
    await follow("go", [goBin, join(root, "tools", "generate", "node_modules", ".bin")]);
  }, 300_000);

  it("works in Python", async () => {
    const folder = join(work, "python");
    // Debian's Python lacks the module that creates environments.
    const { code } = await run("python3", ["-c", "import ensurepip"]);
    if (code !== 0 && hasApt()) await apt("python3-venv");
    await succeed("python3", ["-m", "venv", join(work, "venv")]);
    mkdirSync(folder);
    copyFileSync(join(work, "a2a.binpb"), join(folder, "a2a.binpb"));
    await follow("python", [join(work, "venv", "bin")]);
  }, 300_000);

  it("works in Java", async () => {
    const contract = join(work, "java", "src", "main", "proto", "lf", "a2a", "v1", "a2a.proto");
    mkdirSync(dirname(contract), { recursive: true });
    copyFileSync(join(root, "proto", "lf", "a2a", "v1", "a2a.proto"), contract);
    if ((await run("bash", ["-c", "command -v mvn && command -v javac"])).code !== 0 && hasApt()) {
      await apt("maven");
      await apt("default-jdk-headless");
    }
    await follow("java", []);
  }, 400_000);
});
