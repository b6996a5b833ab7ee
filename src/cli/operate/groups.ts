import type { Command } from "commander";
import type { Io } from "../io.js";

/** A group of commands, which is loaded when it is named. */
interface Group {
  readonly description: string;
  readonly load: () => Promise<{ readonly add: (command: Command, io: Io) => void }>;
}

const groups: Readonly<Record<string, Group>> = {
  tasks: { description: "list, read, watch, end and move the tasks of a server", load: () => import("./tasks.js") },
  owners: { description: "list the owners of tasks, and delete one", load: () => import("./owners.js") },
  push: { description: "look at push notifications, and send them again", load: () => import("./push.js") },
  server: { description: "look at a running server, drain it and back it up", load: () => import("./server.js") },
  check: { description: "check the SQLite file of a server for damage", load: () => import("./check.js") },
  top: { description: "watch a server on a live screen", load: () => import("./top.js") },
};

/**
 * Adds the commands for operators. Only the groups that are needed have their subcommands, because each command takes
 * time at every start.
 */
export async function addOperate(program: Command, isNeeded: (name: string) => boolean, io: Io): Promise<void> {
  for (const [name, { description, load }] of Object.entries(groups)) {
    const command = program.command(name).description(description);
    if (isNeeded(name)) (await load()).add(command, io);
  }
}
