import { once } from "node:events";
import { basename, resolve } from "node:path";
import { folderFault } from "../console/folder.js";
import type { ConsoleAgent, ConsoleStart } from "../console/options.js";
import { attempt } from "../core/members.js";
import { isLoopback, parseUrl, withoutSecrets } from "../core/net.js";
import { given } from "../core/options.js";
import { openOwnConsole } from "../server/own-console.js";
import { UsageError, usageErrorOf } from "./command-error.js";
import type { Io } from "./io.js";
import { createLog } from "./log.js";
import { adminTarget, type ReachFlags } from "./operate/service.js";

export interface ConsoleFlags extends Pick<ReachFlags, "admin" | "adminTokenFile"> {
  readonly task?: string;
  readonly recording?: string;
  readonly port: string;
  readonly open: boolean;
}

/** Serves a console until Ctrl-C. @throws CommandError, ConfigurationError */
export async function runConsole(io: Io, agent: string | undefined, flags: ConsoleFlags): Promise<void> {
  const missing = folderFault();
  if (missing !== undefined) throw new UsageError(missing);
  const book = await agentsIn(io);
  const start = await startAt(io, agent === undefined ? undefined : agentUrl(agent, book), flags);
  const console = await openOwnConsole({
    agents: withStart(book, start),
    start,
    admin: adminTarget(flags, io),
    port: portOf(flags),
    logger: await createLog("error", "auto"),
    onNextLink: (link) => void io.stderr.write(`The console was opened. This link opens it once more:\n  ${link}\n`),
  });
  io.stdout.write(`This link opens the console, once:\n\n  ${console.link}\n\nCtrl-C ends it.\n`);
  if (flags.open && io.stdout.isTTY === true) {
    (await import("./a2a/auth/browser.js")).openInBrowser(new URL(console.link));
  }
  if (!io.interrupted.aborted) await once(io.interrupted, "abort");
  await console.close();
}

function agentUrl(ref: string, book: readonly ConsoleAgent[]): string {
  const agent = book.find(({ name }) => name === ref)?.url ?? urlOf(ref);
  if (agent !== undefined) return agent;
  const shown = withoutSecrets(ref);
  throw new UsageError(`${shown} is not an agent to open: give a URL, a host or a name of agents list`);
}

async function startAt(io: Io, agent: string | undefined, { task, recording }: ConsoleFlags): Promise<ConsoleStart> {
  if (agent === undefined && task !== undefined) {
    throw new UsageError("--task needs the agent of the task: console <agent> --task <id>");
  }
  if (task !== undefined && recording !== undefined) {
    throw new UsageError("--task and --recording open different pages: give one of them");
  }
  return {
    ...given({ agent, task }),
    ...(recording !== undefined && { recording: await recordingIn(io, recording) }),
  };
}

/** Reads a recording, so that a wrong file is refused before a browser opens. @throws CommandError */
async function recordingIn({ cwd }: Io, file: string): Promise<NonNullable<ConsoleStart["recording"]>> {
  const { readRecording } = await import("./a2a/record/recording.js");
  const refused = usageErrorOf("--recording: ", "; name a file of parley record");
  return { name: basename(file), text: attempt(() => readRecording(resolve(cwd, file)).text, refused) };
}

/** Adds the agent to open to those of the address book. */
function withStart(book: readonly ConsoleAgent[], { agent }: ConsoleStart): readonly ConsoleAgent[] {
  if (agent === undefined || book.some(({ url }) => url === agent)) return book;
  return [{ name: new URL(agent).host, url: agent, own: false }, ...book];
}

/** Agents of the address book, except files. @throws CommandError */
async function agentsIn(io: Io): Promise<ConsoleAgent[]> {
  // Imported like this, it stays with the commands that call agents, which load fast.
  const { bookFile, bookLines, namedAgent } = await import("./a2a/agents/names.js");
  const path = bookFile(io);
  const lines = path === undefined ? [] : attempt(() => bookLines(path), usageErrorOf(""));
  return lines.flatMap((line) => {
    const { name = "", agent } = namedAgent(line) ?? {};
    const url = agent === undefined ? undefined : urlOf(agent);
    return url === undefined ? [] : [{ name, url, own: false }];
  });
}

/** Returns the URL of an agent, or undefined for a file and for a text that is neither a URL nor a host. */
function urlOf(ref: string): string | undefined {
  if (/^[./~]/.test(ref) || /\s/.test(ref)) return undefined;
  const hasScheme = ref.includes("://");
  const url = parseUrl(hasScheme ? ref : `${isLoopback(`http://${ref}`) ? "http" : "https"}://${ref}`);
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password === "";
  return isPlain ? url.href.replace(/\/$/, "") : undefined;
}

function portOf({ port }: ConsoleFlags): number {
  const value = Number(port);
  if (/^\d{1,5}$/.test(port) && value <= 65_535) return value;
  throw new UsageError(`--port ${port} is not a port: give a number from 0 to 65535`);
}
