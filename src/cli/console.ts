import type { Command } from "commander";
import type { ConsoleFlags } from "./console-command.js";
import type { Io } from "./io.js";

const afterHelp = `
The agent is a URL, a host or a name of the address book, whose other agents are listed too. The console listens on this machine
only, on a free port. It prints a link that opens it once, and opens the browser if it runs on a terminal. Ctrl-C ends it.

--recording opens a file of "parley record", or one that the console saved, and replays it with the agent or another one.

"parley serve --console" has a console of its own, with the tasks of that server.
`;

/** Adds the command `console`. Its code and its options are loaded on use. */
export async function addConsole(program: Command, isNeeded: boolean, io: Io): Promise<void> {
  const command = program.command("console").description("talk to agents and look into tasks in a browser");
  if (!isNeeded) return;
  const { addAdmin } = await import("./operate/options.js");
  command
    .argument("[agent]", "agent to open")
    .option("--task <id>", "open this task of the agent")
    .option("--recording <file>", "open a recording of parley record, to replay it")
    .option("--port <number>", "port to listen on; 0 for any free port", "0")
    .option("--no-open", "print the link without opening the browser");
  addAdmin(command)
    .addHelpText("after", afterHelp)
    .action(async (agent: string | undefined, flags: ConsoleFlags) =>
      (await import("./console-command.js")).runConsole(io, agent, flags),
    );
}
