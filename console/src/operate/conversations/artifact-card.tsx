import { lazy, type ReactNode, Suspense, useState } from "react";
import type { Artifact } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { PartsView } from "../../content/parts-view.js";
import { operateWords } from "../../texts/operate.js";
import { Badge, Button, css, Skeleton } from "../../ui/parts.js";
import page from "./conversation.module.css";
import { type ArtifactVersion, anchorOf, type VersionPosition, wholeText } from "./lineage.js";

const Diff = lazy(() => import("../../content/diff-view.js"));

const { conversation: texts } = operateWords;

interface ArtifactCardProps {
  readonly taskId: string;
  readonly artifact: Artifact;
  readonly position: VersionPosition | undefined;
}

/** An artifact, with the versions before and after it in the conversation. */
export function ArtifactCard({ taskId, artifact, position }: ArtifactCardProps): ReactNode {
  const [isCompared, setCompared] = useState(false);
  const { name, description, parts } = artifact;
  const before = position?.earlier && wholeText(position.earlier.artifact);
  const after = wholeText(artifact);
  return (
    <div id={anchorOf({ taskId, artifact })} className={page.artifact}>
      <div className={css.row}>
        <h3>{texts.artifact(name)}</h3>
        {position !== undefined && <Badge>{texts.version(position.at, position.of)}</Badge>}
        {position?.earlier && <VersionLink version={position.earlier}>{texts.earlier}</VersionLink>}
        {position?.later && <VersionLink version={position.later}>{texts.later}</VersionLink>}
        {before !== undefined && after !== undefined && (
          <Button onClick={() => setCompared(!isCompared)} aria-expanded={isCompared}>
            {isCompared ? texts.hideCompare : texts.compare}
          </Button>
        )}
      </div>
      {description !== "" && <p className={css.soft}>{description}</p>}
      {isCompared && before !== undefined && after !== undefined ? (
        <Suspense fallback={<Skeleton lines={3} />}>
          <Diff name={texts.artifact(name)} before={before} after={after} />
        </Suspense>
      ) : (
        <PartsView parts={parts} />
      )}
    </div>
  );
}

interface VersionLinkProps {
  readonly version: ArtifactVersion;
  readonly children: ReactNode;
}

/** Scrolls to another version. A link would replace the filters in the page's address. */
function VersionLink({ version, children }: VersionLinkProps): ReactNode {
  const onClick = (): void => {
    const target = document.getElementById(anchorOf(version));
    target?.setAttribute("tabindex", "-1");
    target?.focus();
    target?.scrollIntoView({ block: "start" });
  };
  return (
    <Button kind="plain" onClick={onClick}>
      {children}
    </Button>
  );
}
