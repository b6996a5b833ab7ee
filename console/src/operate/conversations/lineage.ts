import type { Artifact, Task } from "../../../../gen/lf/a2a/v1/a2a_pb.js";

/** An artifact of a task in a conversation. */
export interface ArtifactVersion {
  readonly taskId: string;
  readonly artifact: Artifact;
}

/** Position of an artifact among the versions with its name. */
export interface VersionPosition {
  /** Number of this version, from 1. */
  readonly at: number;
  readonly of: number;
  readonly earlier: ArtifactVersion | undefined;
  readonly later: ArtifactVersion | undefined;
}

/** Returns the name under which later tasks continue an artifact: its own, or that of its file. */
function nameIn({ name, parts }: Artifact): string {
  return name !== "" ? name : (parts.find(({ filename }) => filename !== "")?.filename ?? "");
}

/** The anchor of an artifact in the page. */
export const anchorOf = ({ taskId, artifact }: ArtifactVersion): string => `${taskId}-${artifact.artifactId}`;

/** Finds which artifacts of a conversation are versions of one another: those that have one name, in the order of their tasks. */
export function lineageOf(tasks: readonly Task[]): ReadonlyMap<Artifact, VersionPosition> {
  const byName = new Map<string, ArtifactVersion[]>();
  for (const { id: taskId, artifacts } of tasks) {
    for (const artifact of artifacts) {
      const name = nameIn(artifact);
      if (name === "") continue;
      const known = byName.get(name);
      if (known === undefined) byName.set(name, [{ taskId, artifact }]);
      else known.push({ taskId, artifact });
    }
  }
  const positions = new Map<Artifact, VersionPosition>();
  for (const versions of byName.values()) {
    if (versions.length < 2) continue;
    for (const [index, { artifact }] of versions.entries()) {
      const [earlier, later] = [versions[index - 1], versions[index + 1]];
      positions.set(artifact, { at: index + 1, of: versions.length, earlier, later });
    }
  }
  return positions;
}

/** Returns the text of an artifact, if it has only text. */
export function wholeText({ parts }: Artifact): string | undefined {
  if (parts.length === 0 || parts.some(({ content }) => content.case !== "text")) return undefined;
  return parts.map(({ content }) => content.value).join("");
}
