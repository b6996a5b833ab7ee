import { GitCompare, Package } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import type { Part } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { ReadableArtifact } from "../../../src/client/web.js";
import { PartsView } from "../content/parts-view.js";
import { talkWords } from "../texts/talk.js";
import { Button, Skeleton, css as ui } from "../ui/parts.js";
import css from "./talk.module.css";
import { lineageOf, type Versions, versionText } from "./versions.js";

const Diff = lazy(() => import("../content/diff-view.js"));

interface ArtifactProps {
  readonly artifact: ReadableArtifact;
  readonly taskId: string;
  readonly versions: Versions;
}

/** An artifact with its name, and its changes since the version before. */
export function ArtifactView({ artifact, taskId, versions }: ArtifactProps): ReactNode {
  const [isCompared, setCompared] = useState(false);
  const { name, description, parts } = artifact;
  const lineage = lineageOf(versions, taskId, artifact);
  const before = lineage?.before;
  return (
    <figure className={css.artifact}>
      <figcaption className={css.artifactHead}>
        <Package size={14} aria-hidden="true" />
        <strong>{talkWords.artifact(name.slice(0, 200))}</strong>
        {description !== "" && <span className={ui.soft}>{description.slice(0, 500)}</span>}
        {lineage !== undefined && (
          <span className={`${ui.soft} ${ui.small}`}>{talkWords.versions(lineage.at, lineage.count)}</span>
        )}
        {before !== undefined && (
          <Button kind="plain" aria-expanded={isCompared} onClick={() => setCompared(!isCompared)}>
            <GitCompare size={14} aria-hidden="true" />
            {isCompared ? talkWords.hideCompare : talkWords.compare}
          </Button>
        )}
      </figcaption>
      {isCompared && before !== undefined ? (
        <Suspense fallback={<Skeleton lines={2} />}>
          <Diff name={name} before={versionText(before)} after={versionText(artifact)} />
        </Suspense>
      ) : (
        <PartsView parts={parts as readonly Part[]} />
      )}
    </figure>
  );
}
