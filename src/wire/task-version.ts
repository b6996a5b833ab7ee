import type { Message } from "@bufbuild/protobuf";

const versionKey: unique symbol = Symbol("version");

interface Marked {
  [versionKey]?: string;
}

/**
 * Notes on a task in which version of the protocol it was created, where that is another one than the service's own: some calls of
 * older versions are answered as the task's version has it.
 */
export function markVersion<M extends Message>(task: M, version: string): M {
  (task as Marked)[versionKey] = version;
  return task;
}

/** The version that was noted; undefined for the service's own. */
export function versionOf(task: Message): string | undefined {
  return (task as Marked)[versionKey];
}
