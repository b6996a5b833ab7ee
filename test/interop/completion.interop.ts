import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { main } from "../cli/cli.js";
import { build } from "../e2e/support/build.js";
import { apt, run } from "./support/tool.js";

// Completion scripts, loaded into the shells of a terminal.

build();

const shells = {
  bash: { start: "bash --norc --noprofile -i", load: 'eval "$(parley completion bash)"' },
  zsh: { start: "zsh -f -i", load: 'autoload -Uz compinit; compinit -u; eval "$(parley completion zsh)"' },
  fish: { start: "fish --no-config --private -i", load: "parley completion fish | source" },
} as const;

let folder = "";
const called = () => join(folder, "called");

beforeAll(async () => {
  for (const name of ["tmux", ...Object.keys(shells)]) {
    if ((await run("sh", ["-c", `command -v ${name}`])).code !== 0) await apt(name);
  }
  folder = mkdtempSync(join(tmpdir(), "parley-completion-"));
  const files = {
    "bin/parley": `#!/bin/sh\ntouch ${called()}\nexec ${process.execPath} ${main} "$@"\n`,
    "config/a2a-cli/agents.txt":
      "# Agents of the team.\nweather https://weather.example.org/\nnews https://news.example.org/\n",
    "work/report one.pdf": "",
    "work/quarter.json": "{}",
    "work/folder/inner.json": "{}",
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  chmodSync(join(folder, "bin/parley"), 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tmux = (...args: string[]): string =>
  spawnSync("tmux", ["-L", "parley-completion", ...args], { encoding: "utf8" }).stdout;

/** A shell in a terminal, with its script loaded. */
class Terminal {
  readonly #name: string;

  constructor(name: keyof typeof shells) {
    this.#name = name;
    const env = {
      HOME: folder,
      XDG_CONFIG_HOME: join(folder, "config"),
      PATH: `${join(folder, "bin")}:${process.env.PATH}`,
    };
    const words = Object.entries(env).map(([key, value]) => `${key}='${value}'`);
    const command = `cd ${join(folder, "work")} && env -u EDITOR -u VISUAL ${words.join(" ")} PS1='ready> ' ${shells[name].start}`;
    tmux("new-session", "-d", "-x", "160", "-y", "50", "-s", name, command);
  }

  get screen(): string {
    return tmux("capture-pane", "-p", "-t", this.#name).trimEnd();
  }

  keys(...keys: string[]): void {
    tmux("send-keys", "-t", this.#name, ...keys);
  }

  type(text: string): void {
    tmux("send-keys", "-t", this.#name, "-l", text);
  }

  async load(text: string): Promise<void> {
    await expect.poll(() => this.screen, { timeout: 30_000 }).toMatch(/[>#%] *$/);
    this.type(`${text}; echo loa""ded`);
    this.keys("Enter");
    await expect.poll(() => this.screen, { timeout: 30_000 }).toMatch(/^loaded$/m);
  }

  /** Starts a new line on an empty screen. */
  async clear(): Promise<void> {
    // Uses no Ctrl-C, because its signal may overtake keys.
    this.keys("C-u");
    this.keys("C-u");
    this.keys("C-l");
    await expect.poll(() => this.screen, { timeout: 15_000 }).toMatch(/^[^\n]*[>#%]$/);
  }

  close(): void {
    tmux("kill-session", "-t", this.#name);
  }
}

/** A typed line, and the same line after a tab. */
const lines: readonly (readonly [about: string, typed: string, completed: string])[] = [
  ["commands", "parley comp", "parley completion"],
  ["commands of a group", "parley task su", "parley task subscribe"],
  ["commands of operators", "parley tasks sh", "parley tasks show"],
  ["commands after help", "parley help comp", "parley help completion"],
  ["options", "parley send --poll", "parley send --poll-interval"],
  ["options of one command", "parley task list --page-t", "parley task list --page-token"],
  ["options of a server", "parley serve agent.js --log-le", "parley serve agent.js --log-level"],
  ["forms of the output", "parley send -o te", "parley send -o text"],
  ["a value after =", "parley send --output=te", "parley send --output=text"],
  ["transports", "parley send --transport gr", "parley send --transport grpc"],
  ["states", "parley task list --status inp", "parley task list --status input-required"],
  ["flows", "parley auth login --flow dev", "parley auth login --flow device"],
  ["levels of a server", "parley serve agent.js --log-level war", "parley serve agent.js --log-level warn"],
  ["shells", "parley completion fi", "parley completion fish"],
  ["named agents", "parley send -a wea", "parley send -a weather"],
  ["named agents as arguments", "parley agents remove ne", "parley agents remove news"],
  ["a command after global options", "parley -a weather -o json task li", "parley -a weather -o json task list"],
  ["an option after a text with spaces", "parley send 'task list' --task-", "parley send 'task list' --task-id"],
  [
    "an option after a host with a port",
    "parley send -a localhost:8080 --task-",
    "parley send -a localhost:8080 --task-id",
  ],
  ["files of parts", "parley send --file-part rep", "parley send --file-part report\\ one.pdf"],
  ["cards in files", "parley card get qu", "parley card get quarter.json"],
  ["modules", "parley serve qu", "parley serve quarter.json"],
];

/** A typed line, and words of the list after two tabs. */
const lists: readonly (readonly [about: string, typed: string, words: readonly string[], never: readonly string[]])[] =
  [
    ["groups and commands", "parley ", ["send", "task", "agents", "completion", "serve", "tasks"], ["quarter.json"]],
    ["verbs", "parley task ", ["get", "list", "cancel", "subscribe"], ["send", "quarter.json"]],
    ["names of agents and files", "parley send -a ", ["weather", "news", "quarter.json", "folder"], ["team"]],
    ["options without aliases", "parley send --p", ["--poll-interval"], ["--polling-interval"]],
    ["nothing for a free text", "parley send --task-id ", [], ["quarter.json", "weather"]],
  ];

describe.each(Object.keys(shells) as (keyof typeof shells)[])("A2ACLI_CLI_002 completion in %s", (name) => {
  let terminal: Terminal;
  beforeAll(() => {
    terminal = new Terminal(name);
  });
  afterAll(() => terminal?.close());

  it("loads its script", async () => {
    await terminal.load(shells[name].load);
    rmSync(called());
  });

  it.each(lines)("completes %s", async (_, typed, completed) => {
    await terminal.clear();
    terminal.type(typed);
    terminal.keys("Tab");
    // The mark shows the end of the completed line, because Fish displays suggestions before the tab.
    terminal.type("X");
    const pattern = completed.replaceAll(/[.\\]/g, "\\$&");
    await expect.poll(() => terminal.screen, { timeout: 15_000 }).toMatch(new RegExp(`[>#%] ${pattern} X$`, "m"));
  });

  it.each(lists)("lists %s", async (_, typed, words, never) => {
    await terminal.clear();
    terminal.type(typed);
    terminal.keys("Tab");
    terminal.keys("Tab");
    for (const word of words) {
      await expect
        .poll(() => terminal.screen)
        .toMatch(new RegExp(`(?:^|\\s)${word.replace(".", "\\.")}(?:/|\\s|$)`, "m"));
    }
    for (const word of never) expect(terminal.screen).not.toMatch(new RegExp(`^(?:.*\\s)?${word}(?:\\s|$)`, "m"));
  });

  it("starts no process of this program", () => expect(existsSync(called())).toBe(false));
});
