import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId } from "react";
import {
  type Artifact,
  type Message,
  type StreamResponse,
  StreamResponseSchema,
  type TaskStatus,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { olderNotification } from "../../../src/version/older-notification.js";
import { jsonReader } from "../../../src/wire/json-reader.js";
import { PartsView } from "../content/parts-view.js";
import { receiverWords as texts } from "../texts/receiver.js";
import { Badge, Note, Skeleton, css as ui } from "../ui/parts.js";
import { StateBadge } from "../ui/states.js";
import css from "./receiver.module.css";

const read = jsonReader(StreamResponseSchema);

/** Reads the body of a notification of any version; null for one without an event. */
async function eventIn(body: string): Promise<StreamResponse | null> {
  try {
    const json = JSON.parse(body);
    return ((await olderNotification(json)) ?? read)(json);
  } catch {
    return null;
  }
}

/** The event in a body: a task, a message, or a change of a task's status or of one of its artifacts. */
export function EventView({ body }: { readonly body: string }): ReactNode {
  const { data } = useQuery({
    queryKey: ["receiver-event", useId()],
    queryFn: () => eventIn(body),
    gcTime: 0,
    staleTime: Infinity,
    structuralSharing: false,
  });
  if (data === undefined) return <Skeleton lines={3} />;
  const payload = data?.payload;
  switch (payload?.case) {
    case "task": {
      const { status, artifacts, history } = payload.value;
      return (
        <>
          <StatusView status={status} />
          {artifacts.map((artifact) => (
            <ArtifactView key={artifact.artifactId} artifact={artifact} />
          ))}
          {history.length > 0 && <p className={ui.soft}>{texts.history(history.length)}</p>}
        </>
      );
    }
    case "statusUpdate":
      return <StatusView status={payload.value.status} />;
    case "artifactUpdate": {
      const { artifact, append, lastChunk } = payload.value;
      return (
        <>
          <div className={ui.row}>
            {append && <Badge>{texts.appended}</Badge>}
            {lastChunk && <Badge>{texts.lastPiece}</Badge>}
          </div>
          {artifact !== undefined && <ArtifactView artifact={artifact} />}
        </>
      );
    }
    case "message":
      return <MessageView message={payload.value} />;
    default:
      return <Note>{texts.notDecoded}</Note>;
  }
}

function StatusView({ status }: { readonly status: TaskStatus | undefined }): ReactNode {
  return (
    <>
      <div>
        <StateBadge state={status?.state} />
      </div>
      {status?.message !== undefined && <MessageView message={status.message} />}
    </>
  );
}

function MessageView({ message }: { readonly message: Message }): ReactNode {
  return (
    <div className={css.content}>
      <PartsView parts={message.parts} of="message" />
    </div>
  );
}

function ArtifactView({ artifact }: { readonly artifact: Artifact }): ReactNode {
  return (
    <figure className={css.content}>
      <figcaption>
        <strong>{texts.artifact(artifact.name.slice(0, 200))}</strong>
      </figcaption>
      <PartsView parts={artifact.parts} />
    </figure>
  );
}
