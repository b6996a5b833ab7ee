import { type ReadableArtifact, textOf } from "../../../src/client/web.js";
import type { Block } from "./talk-view.js";

/** A version of an artifact: one of those of the same name in a conversation. */
export interface ArtifactVersion {
  readonly taskId: string;
  readonly artifact: ReadableArtifact;
}

export type Versions = ReadonlyMap<string, readonly ArtifactVersion[]>;

/** Returns the artifacts of a conversation by name, in the order of their tasks. */
export function versionsIn(blocks: readonly Block[]): Versions {
  const versions = new Map<string, ArtifactVersion[]>();
  for (const block of blocks) {
    if (block.kind !== "task") continue;
    for (const artifact of block.view.task?.artifacts ?? []) {
      if (artifact.name === "") continue;
      const version = { taskId: block.view.id, artifact };
      const known = versions.get(artifact.name);
      if (known === undefined) versions.set(artifact.name, [version]);
      else known.push(version);
    }
  }
  return versions;
}

/** Position of an artifact among its versions, and the one before it if both are texts. */
export interface Lineage {
  readonly at: number;
  readonly count: number;
  readonly before: ReadableArtifact | undefined;
}

export function lineageOf(versions: Versions, taskId: string, artifact: ReadableArtifact): Lineage | undefined {
  const all = versions.get(artifact.name);
  if (all === undefined || all.length < 2) return undefined;
  const at = all.findIndex((each) => each.taskId === taskId && each.artifact.artifactId === artifact.artifactId);
  const before = all[at - 1]?.artifact;
  const areTexts = before !== undefined && hasText(before) && hasText(artifact);
  return { at: at + 1, count: all.length, before: areTexts ? before : undefined };
}

const hasText = ({ parts }: ReadableArtifact): boolean =>
  parts.some((part) => (part as { readonly content?: { readonly case?: string } }).content?.case === "text");

export const versionText = (artifact: ReadableArtifact): string => textOf(artifact);
