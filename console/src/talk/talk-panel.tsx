import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, type RefObject, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { useLoginRevision } from "../agents/client.js";
import { ContentContext } from "../content/content-context.js";
import { contentWords } from "../texts/content.js";
import { states } from "../texts/states.js";
import { talkWords } from "../texts/talk.js";
import { Boundary } from "../ui/boundary.js";
import { ErrorNote } from "../ui/error.js";
import { classes, Empty, Note, Skeleton, css as ui } from "../ui/parts.js";
import { DropZone, useAttachments } from "./attachments.js";
import { Composer } from "./composer.js";
import { PanelHead } from "./panel-head.js";
import css from "./talk.module.css";
import type { TalkSearch } from "./talk-search.js";
import type { TalkStore } from "./talk-store.js";
import type { Block, TalkView } from "./talk-view.js";
import { TaskBlock } from "./task-block.js";
import { TurnBlock } from "./turn-block.js";
import { versionsIn } from "./versions.js";

interface TalkPanelProps {
  readonly store: TalkStore;
  readonly search: TalkSearch;
  readonly isBeside?: boolean;
}

/** One conversation. */
export function TalkPanel({ store, search, isBeside = false }: TalkPanelProps): ReactNode {
  const view = useSyncExternalStore(store.subscribe, store.view);
  const [references, setReferences] = useState<readonly string[]>([]);
  const files = useAttachments();
  const navigate = useNavigate();
  const { agent, agentName } = store.kept;
  const login = useLoginRevision(agent);
  // Another login needs another client.
  useEffect(() => store.begin(login), [store, login]);
  const name = (view.connected?.client.card.name ?? (agentName || agent)).slice(0, 120);
  const place = useMemo(() => ({ agent }), [agent]);
  const close = (): void => void navigate({ to: "/talk", search: { ...search, beside: undefined } });
  return (
    <section className={classes(css.panel, isBeside && css.beside)} aria-label={talkWords.panel(name, isBeside)}>
      <PanelHead store={store} view={view} name={name} search={search} {...(isBeside && { onClose: close })} />
      <DropZone onFiles={files.add}>
        <ContentContext value={place}>
          <Log
            store={store}
            view={view}
            name={name}
            search={search}
            isBeside={isBeside}
            onRefer={(id) => setReferences([...references, id])}
          />
        </ContentContext>
        <Composer
          store={store}
          view={view}
          files={files}
          references={references}
          onReferences={setReferences}
          hasFocus={!isBeside}
          begin={isBeside ? "" : (search.text ?? "")}
        />
      </DropZone>
    </section>
  );
}

interface LogProps {
  readonly store: TalkStore;
  readonly view: TalkView;
  readonly name: string;
  readonly search: TalkSearch;
  readonly isBeside: boolean;
  readonly onRefer: (taskId: string) => void;
}

function Log({ store, view, name, search, isBeside, onRefer }: LogProps): ReactNode {
  const scroll = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  useEndInView(scroll, inner);
  const versions = versionsIn(view.blocks);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys scroll the focused element.
    <section ref={scroll} className={css.scroll} tabIndex={0} aria-label={talkWords.messages(name, isBeside)}>
      <div ref={inner} className={css.log} role="log" aria-live="off">
        {view.error !== undefined && (
          <div className={ui.stack}>
            <h2>{talkWords.notConnected}</h2>
            <ErrorNote error={view.error} onRetry={store.reconnect} />
          </div>
        )}
        {view.connected === undefined && view.error === undefined && view.blocks.length === 0 && <Skeleton lines={3} />}
        {view.connected !== undefined && view.blocks.length === 0 && (
          <Greeting name={name} store={store} examples={examplesOf(view)} />
        )}
        {view.blocks.map((block) => (
          <Boundary key={keyOf(block)} instead={<Note tone="wait">{contentWords.unshowable}</Note>}>
            {block.kind === "turn" ? (
              <TurnBlock turn={block.turn} store={store} />
            ) : (
              <TaskBlock
                {...block}
                store={store}
                versions={versions}
                isMarked={search.task === block.view.id}
                onRefer={onRefer}
              />
            )}
          </Boundary>
        ))}
      </div>
      <Spoken view={view} />
    </section>
  );
}

const keyOf = (block: Block): string => (block.kind === "turn" ? `turn ${block.turn.id}` : `task ${block.view.id}`);

function examplesOf({ connected }: TalkView): readonly string[] {
  const skills = connected?.client.card.skills ?? [];
  return [...new Set(skills.flatMap(({ examples }) => examples))].slice(0, 4).map((each) => each.slice(0, 200));
}

interface GreetingProps {
  readonly name: string;
  readonly store: TalkStore;
  readonly examples: readonly string[];
}

function Greeting({ name, store, examples }: GreetingProps): ReactNode {
  return (
    <Empty title={talkWords.sayHello(name)}>
      <div className={css.examples}>
        {examples.map((text) => (
          <button key={text} type="button" className={css.example} onClick={() => store.send({ parts: text })}>
            {text}
          </button>
        ))}
      </div>
    </Empty>
  );
}

/** Tells readers of the screen the state of the last task, and not each word of a stream. */
function Spoken({ view }: { readonly view: TalkView }): ReactNode {
  const last = view.blocks.at(-1);
  const state = last?.kind === "task" ? last.view.state : undefined;
  return (
    <p className={ui.hidden} role="status" aria-live="polite">
      {state === undefined ? "" : (talkWords.stateSpoken[state] ?? states[state])}
    </p>
  );
}

/** Keeps the end in view while content is added, unless the user has scrolled away from it. */
function useEndInView(scroll: RefObject<HTMLElement | null>, inner: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const [box, content] = [scroll.current, inner.current];
    if (box === null || content === null) return;
    let isAtEnd = true;
    let last = box.scrollTop;
    const onScroll = (): void => {
      const isNear = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
      // Content that grows moves the end away, but only the user scrolls up.
      if (isNear) isAtEnd = true;
      else if (box.scrollTop < last) isAtEnd = false;
      last = box.scrollTop;
    };
    const observer = new ResizeObserver(() => {
      if (isAtEnd) box.scrollTop = box.scrollHeight;
    });
    observer.observe(content);
    observer.observe(box);
    box.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      box.removeEventListener("scroll", onScroll);
    };
  }, [scroll, inner]);
}
