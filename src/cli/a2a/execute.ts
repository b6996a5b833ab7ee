import type { Command } from "commander";
import { messageIn } from "../../core/members.js";
import type { Io } from "../io.js";
import type { CommandRow } from "./commands/row.js";
import { Context } from "./context.js";
import { Failure, usage } from "./errors.js";
import { Output, type OutputMode } from "./output.js";
import { type GivenFlag, resolveSettings } from "./sources.js";

interface Invocation {
  readonly given: readonly GivenFlag[];
  readonly operands: readonly string[];
  /** The program that has the command. */
  readonly program: Command;
}

/**
 * Runs a command: reads its settings, loads its code, and prints its failure.
 *
 * @param early form of the output until the settings are read
 * @returns the exit status
 */
export async function execute(
  row: CommandRow,
  io: Io,
  early: OutputMode,
  { given, operands, program }: Invocation,
): Promise<number> {
  let out = new Output(io, early);
  let context: Context | undefined;
  try {
    const resolved = resolveSettings(io, given);
    const { output, stream, verbose } = resolved.values;
    if (stream && row.streams !== true) throw usage(`${row.words} has no --stream`);
    const isJson = output !== "text";
    out = new Output(io, { isJson, isLines: output === "jsonl" || (isJson && stream), isVerbose: verbose });
    const { bearer, apiKey, auth, svcParam } = resolved.values;
    for (const secret of [bearer, apiKey, auth, ...svcParam.map(([, value]) => value)]) out.redactor.add(secret);
    for (const warning of resolved.warnings) out.warn(warning);
    context = new Context(io, out, resolved, given, program);
    const { run } = await row.load();
    await run(context, operands);
    return context.exit;
  } catch (error) {
    const unexpected = (): Failure =>
      new Failure("A2ACLI_ERR_INTERNAL", `Unexpected error: ${messageIn(error)}`, { cause: error });
    const failure = context?.failure(error) ?? (error instanceof Failure ? error : unexpected());
    out.fail(failure);
    return failure.exit;
  } finally {
    await context?.close();
  }
}
