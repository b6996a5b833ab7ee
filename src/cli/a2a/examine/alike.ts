import { isDeepStrictEqual } from "node:util";
import { clone, toBinary } from "@bufbuild/protobuf";
import { type Task, TaskSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { clientError } from "../../../client/errors/errors.js";
import type { Finding, Probe } from "../../../examine/check.js";
import { jsonOf } from "../output.js";

export const alikeRule = {
  name: "alike",
  section: "5.1",
  requirement: "all interfaces show the same task",
  mend: "let all interfaces share one store, and answer from the same code",
};

/** Most bytes of a task that is compared, since one of each interface is kept. */
const MAX_BYTES = 1024 * 1024;

/** A task as the interface that began it shows it. */
export interface Shown {
  readonly id: string;
  readonly binding: string;
  readonly json: unknown;
}

/** Reads the task of a probe as its interface shows it, if it does and the task is not too large. */
export async function shownBy({ client, task, binding, signal }: Probe): Promise<Shown | undefined> {
  if (task === undefined) return undefined;
  try {
    const shown = await client.getTask({ id: task.id }, { signal });
    if (toBinary(TaskSchema, shown).length > MAX_BYTES) return undefined;
    return { id: task.id, binding, json: comparable(shown) };
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Compares the task of another interface with the same task of this one. */
export async function compared({ id, binding, json }: Shown, { client, signal }: Probe): Promise<Finding> {
  try {
    const other = comparable(await client.getTask({ id }, { signal }));
    if (isDeepStrictEqual(other, json)) return undefined;
    const names = Object.keys({ ...(json as object), ...(other as object) });
    const differing = names.filter((name) => !isDeepStrictEqual((json as Members)[name], (other as Members)[name]));
    return { fault: `the task that was begun over ${binding} has another ${differing.join(", ")} here` };
  } catch (thrown) {
    signal.throwIfAborted();
    return { fault: `the task that was begun over ${binding} is not found here: ${clientError(thrown).reason}` };
  }
}

type Members = Readonly<Record<string, unknown>>;

/** JSON has milliseconds at most, protobuf more. */
function comparable(task: Task): unknown {
  const copy = clone(TaskSchema, task);
  const time = copy.status?.timestamp;
  if (time !== undefined) time.nanos -= time.nanos % 1_000_000;
  return jsonOf(TaskSchema, copy);
}
