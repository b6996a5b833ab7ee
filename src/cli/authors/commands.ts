import type { Command } from "commander";
import type { Io } from "../io.js";
import { CHILD_VARIABLE } from "./stage.js";
import { type InitOptions, templates } from "./templates.js";

const initHelp = `
Templates:
${Object.entries(templates)
  .map(([name, about]) => `  ${name.padEnd(9)} ${about}`)
  .join("\n")}

On a terminal it asks for what is missing. Otherwise give the folder and the template, or --yes for the template "plain". A folder
that has files needs --force; files that are replaced are listed. "npm create parley-a2a" does the same without an install.
`;

const devHelp = `
The agent and all files that it imports are watched. The port and the tasks are kept over a restart, and streams of clients continue.
After an error the command waits for the next change. It has all options of "parley serve" and gives running work half a second
(--grace) before a restart.

With --chat you talk with the agent in this terminal, as with "parley chat", while it restarts. The server's log goes to a file.
`;

/**
 * Adds the commands for authors of agents. Their code is loaded on use.
 *
 * @param hasOptions true to add the options of `dev`, which are those of the server
 * @param args words of the command line after the command
 */
export async function addAuthors(
  program: Command,
  hasOptions: boolean,
  args: readonly string[],
  io: Io,
): Promise<void> {
  program
    .command("init")
    .description("create an agent in a new folder")
    .argument("[folder]", "the new folder; . for this one")
    .option("-t, --template <name>", `${Object.keys(templates).join(", ")} (default: plain)`)
    .option("-n, --name <name>", "name of the package and of the agent (default: the folder's)")
    .option("--package <spec>", "version, tarball or folder of parley-a2a (default: this version)")
    .option("-y, --yes", "ask nothing")
    .option("--force", "write into a folder that has files")
    .option("--install", "run npm install")
    .addHelpText("after", initHelp)
    .action(async (folder: string | undefined, options: InitOptions) =>
      (await import("./init.js")).init(io, folder, options),
    );
  const dev = program
    .command("dev")
    .description("serve the agents of a module, and restart them when a file changes")
    .argument("<module>", "as for serve")
    .addHelpText("after", devHelp);
  if (!hasOptions) return;
  const { addFlags, givenTo } = await import("../flags.js");
  dev.option("--chat", "talk with the agent in this terminal; the server's log goes to a file");
  addFlags(dev).action(async (module: string) => {
    const given = givenTo(dev);
    const isChat = dev.opts<{ readonly chat?: boolean }>().chat === true;
    if (io.env[CHILD_VARIABLE] === undefined || process.send === undefined) {
      await (await import("./dev.js")).dev(io, module, { args, given, chat: isChat ? program : undefined });
    } else {
      await (await import("./dev-server.js")).serveForDev(io, module, given);
    }
  });
}
