import type { ReactComponentImplementation } from "@a2ui/react/v0_9";
import type { A2uiMessage, SurfaceModel } from "@a2ui/web_core/v0_9";
import type { JsonObject } from "@bufbuild/protobuf";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Message } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { MessageFields } from "../../../../src/client/web.js";
import { contentWords } from "../../texts/content.js";
import { talkWords } from "../../texts/talk.js";
import { Boundary } from "../../ui/boundary.js";
import { sentenceOf } from "../../ui/error.js";
import { Note } from "../../ui/parts.js";
import { A2UI_MEDIA_TYPE, a2uiMessagesOf } from "../a2ui.js";
import css from "../talk.module.css";
import "./surface.css";
import { A2uiSurface, catalog, MessageProcessor } from "./renderer.js";
import { SurfaceSize } from "./surface-size.js";

type Surface = SurfaceModel<ReactComponentImplementation>;

const VERSION = "v0.9.1";

interface SurfacesProps {
  /** The messages of the task, of which those of the agent describe surfaces. */
  readonly messages: readonly Message[];
  /** Sends what the user did. */
  readonly onAction: (fields: Pick<MessageFields, "parts" | "metadata">) => void;
}

/** The surfaces of a task, drawn by A2UI's own renderer. What the user does with them goes back as a message. */
export default function Surfaces({ messages, onAction }: SurfacesProps): ReactNode {
  const act = useRef(onAction);
  act.current = onAction;
  const [drawn, setDrawn] = useState<{ readonly surfaces: readonly Surface[]; readonly fault?: string }>();
  useEffect(() => {
    const processor: MessageProcessor<ReactComponentImplementation> =
      new MessageProcessor<ReactComponentImplementation>(
        [catalog],
        (action) => act.current(actionMessage(processor, action as unknown as JsonObject)),
        { version: VERSION },
      );
    const size = new SurfaceSize();
    let fault: string | undefined;
    for (const message of messages) {
      for (const part of message.parts) {
        const described = a2uiMessagesOf(part)?.filter((each) => !isAction(each));
        if (described === undefined || described.length === 0) continue;
        try {
          size.add(described);
          processor.processMessages(described as unknown as A2uiMessage[]);
        } catch (error) {
          fault = sentenceOf(error);
        }
      }
    }
    const last = messages.at(-1)?.parts.flatMap((part) => a2uiMessagesOf(part) ?? []) ?? [];
    const asked = new Set(last.map(surfaceIdOf));
    const surfaces = [...processor.model.surfacesMap.values()].filter((surface) => asked.has(surface.id));
    setDrawn({ surfaces, ...(fault !== undefined && { fault }) });
    return () => processor.model.dispose();
  }, [messages]);
  return (
    <>
      {drawn?.surfaces.map((surface) => (
        <section key={surface.id} className={`${css.surface} a2ui`} aria-label={talkWords.surface.label}>
          <Boundary instead={<Note tone="wait">{contentWords.unshowable}</Note>}>
            <A2uiSurface surface={surface} />
          </Boundary>
        </section>
      ))}
      {drawn?.fault !== undefined && (
        <Note tone="wait">
          {talkWords.surface.broken} {drawn.fault.slice(0, 500)}
        </Note>
      )}
    </>
  );
}

/** The surface that a message is about. Those of answered questions stay, unless their agent deletes them. */
function surfaceIdOf(message: unknown): unknown {
  const about = typeof message === "object" && message !== null ? Object.values(message) : [];
  return about
    .map((each) => (each as { readonly surfaceId?: unknown } | null)?.surfaceId)
    .find((id) => id !== undefined);
}

const isAction = (message: unknown): boolean => typeof message === "object" && message !== null && "action" in message;

/**
 * The message of an action, with what this client can draw. The extension names the type in the metadata; a media type
 * would be refused by agents whose card does not list it.
 */
function actionMessage(
  processor: MessageProcessor<ReactComponentImplementation>,
  action: JsonObject,
): Pick<MessageFields, "parts" | "metadata"> {
  const capabilities = processor.getClientCapabilities({ version: VERSION }) as unknown as JsonObject;
  return {
    parts: [{ data: [{ version: VERSION, action }], metadata: { mimeType: A2UI_MEDIA_TYPE } }],
    metadata: { a2uiClientCapabilities: capabilities },
  };
}
