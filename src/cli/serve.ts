import type { Command } from "commander";

const afterHelp = `
Write durations as 500ms, 10s, 15m, 2h or 7d, and sizes as 64KiB, 8MiB or 1GiB. The command line overrides the environment,
which overrides the exports of the module. Every limit is an option too, such as --max-request-bytes 16MiB; "parley limits"
lists them.
`;

/**
 * Adds the command `serve`, and `limits`, which lists the options that its help leaves out. The server and its options
 * are loaded on use: other commands start in half the time without them.
 *
 * @param isNeeded whether the options of `serve` are used
 */
export async function addServe(program: Command, isNeeded: boolean): Promise<void> {
  const serveCommand = program
    .command("serve")
    .description("serve the agents of a module over every binding")
    .argument(
      "<module>",
      'JavaScript or TypeScript that exports an agent as "default" or "agent", or several by tenant as "agents"; options ' +
        'of createServer, such as authenticator and limits, by their names or together as "options"',
    )
    .addHelpText("after", afterHelp);
  program
    .command("limits")
    .description("list the limits that serve accepts, with their defaults and environment variables")
    .action(async () => void process.stdout.write((await import("./flags.js")).limitsList()));
  if (!isNeeded) return;
  const { addFlags, givenTo } = await import("./flags.js");
  addFlags(serveCommand).action(async (module: string) => {
    const given = givenTo(serveCommand);
    await (await import("./serve-command.js")).serve(module, given);
  });
}
