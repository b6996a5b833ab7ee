import { existsSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { ConfigurationError } from "../../card/faults.js";
import { quoted } from "../../page/command.js";
import type { Server } from "../../server/create-server.js";
import type { Settings } from "../../server/options.js";
import { StoreError } from "../../store/task-store.js";
import type { Given } from "../flags.js";
import type { Io } from "../io.js";
import { serve } from "../serve-command.js";
import { DevLog } from "./dev-log.js";
import { CHILD_VARIABLE, type FromServer, GRACE_MS } from "./stage.js";

/** Serves a module for `parley dev`, whose process started this one and is told about the state. */
export async function serveForDev(io: Io, path: string, given: Given): Promise<void> {
  // Servers warn of unknown variables with our prefix.
  delete process.env[CHILD_VARIABLE];
  // The watching process was killed. Its end must not leave a server.
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel?.unref();
  const log = new DevLog(process.stderr);
  const own: Given = {
    server: { accessLog: true, drainDelayMs: 0, ...given.server },
    limits: { shutdownGraceMs: GRACE_MS, ...given.limits },
    command: { audit: "off", ...given.command },
  };
  try {
    await serve(path, own, {
      log: (level) => log.logger(level),
      onAppend: (request) => log.append(request),
      greet: (server, settings) => {
        const address = server.url.replace("127.0.0.1", "localhost");
        tell({ type: "ready", ...portsOf(server), address, greeting: greetingOf(io, server, address, settings) });
      },
    });
  } catch (error) {
    const isBusy = error instanceof ConfigurationError && error.message.startsWith("Cannot listen");
    // No change of a file can fix these errors.
    if (isBusy || error instanceof StoreError) tell({ type: "stuck" });
    throw error;
  }
}

function tell(message: FromServer): void {
  process.send?.(message);
}

function portsOf({ url, grpcAddress }: Server): { readonly port: number; readonly grpcPort: number | undefined } {
  const { port, protocol } = new URL(url);
  const grpcPort = grpcAddress === undefined ? undefined : Number(grpcAddress.replace(/^.*:/, ""));
  return { port: Number(port) || (protocol === "https:" ? 443 : 80), grpcPort };
}

/** The address, findings about the card, and commands to try. */
function greetingOf(io: Io, { card }: Server, address: string, settings: Settings): string {
  const example = card.skills.flatMap(({ examples }) => examples)[0] ?? "hello";
  const advice = settings.agents.all.flatMap((agent) => cardAdvice(agent.card));
  const call = ownCommand(io);
  return `${card.name} ${card.version} is served at ${address}
${advice.map((line) => `  Card: ${line}\n`).join("")}
Try it in another terminal, or open the address in a browser:

  ${call} send -a ${address} ${quoted(example)}
  ${call} card get ${address}

Files are watched. Ctrl-C ends the server.

`;
}

/** Returns suggestions for a valid card, one sentence each. Clients choose agents by these fields. */
function cardAdvice({ description, skills }: AgentCard): readonly string[] {
  const silent = skills.filter(({ examples }) => examples.length === 0).map(({ id }) => id);
  const untagged = skills.filter(({ tags }) => tags.length === 0).map(({ id }) => id);
  return [
    ...(description.trim() === "" ? ["description is empty"] : []),
    ...(skills.length === 0 ? ["skills is empty: clients cannot tell what the agent does"] : []),
    ...(silent.length > 0 ? [`no examples in the skills ${silent.join(", ")}: people see them as first messages`] : []),
    ...(untagged.length > 0 ? [`no tags in the skills ${untagged.join(", ")}: registries search by them`] : []),
  ];
}

/** Returns the words that start this program from the current directory: `npx` would install another package. */
function ownCommand({ cwd, program }: Pick<Io, "cwd" | "program">, main: string = process.argv[1] ?? ""): string {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "node_modules", ".bin", program))) return `npx ${program}`;
    if (dirname(folder) === folder) break;
  }
  if (basename(main) !== "main.js") return program;
  const near = relative(cwd, main);
  const path = near.startsWith("..") ? main : near;
  return `node ${/^[\w./-]+$/.test(path) ? path : quoted(path)}`;
}
