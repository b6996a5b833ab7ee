import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { AgentsInput } from "../card/agents.js";
import type { Agent } from "../engine/agent.js";
import { UsageError } from "./usage-error.js";

/**
 * Loads a module and takes from it what it serves: an agent as `default` or `agent`, or several by tenant as `agents`.
 *
 * @throws UsageError when there is no such file, it cannot be loaded, or it has nothing to serve.
 */
export async function loadAgents(path: string): Promise<AgentsInput> {
  const file = resolve(path);
  if (!existsSync(file)) throw new UsageError(`the agent module ${path} does not exist`);
  const module = await load(path, file);
  const agent = [module.default, module.agent].find(isMeantAsAgent);
  if (agent !== undefined) return { agent };
  const { agents } = module;
  if (typeof agents === "object" && agents !== null && Object.values(agents).some(isMeantAsAgent)) {
    return { agents: agents as Record<string, Agent> };
  }
  throw new UsageError(`${path} exports no agent: export it as "default" or "agent", or several by tenant as "agents"`);
}

async function load(path: string, file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const hint =
      code === "ERR_UNKNOWN_FILE_EXTENSION"
        ? "it is not JavaScript: compile it, or run `node --import tsx node_modules/.bin/parley serve …`"
        : message;
    throw new UsageError(`the agent module ${path} cannot be loaded: ${hint}`, { cause });
  }
}

/** What an agent lacks, the server says. */
function isMeantAsAgent(value: unknown): value is Agent {
  return typeof value === "object" && value !== null && ("execute" in value || "card" in value);
}
