import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { BellPlus, X } from "lucide-react";
import { type ReactNode, useState, useSyncExternalStore } from "react";
import { addedAgents, allAgents } from "../api/agents.js";
import { sessionQuery } from "../api/session.js";
import { receiverWords as texts } from "../texts/receiver.js";
import { sentenceOf } from "../ui/error.js";
import { Button, Note, css as ui } from "../ui/parts.js";
import { Failure } from "./failure.js";
import css from "./receiver.module.css";
import { type Registration, register, unregister, useRegistrations } from "./registrations.js";

interface RegisterProps {
  readonly address: string;
  readonly agent: string | undefined;
  readonly onAgent: (agent: string | undefined) => void;
}

/** Asks an agent for the notifications of a task, and lists the tasks for which it was asked. */
export function RegisterCard({ address, agent = "", onAgent }: RegisterProps): ReactNode {
  const [taskId, setTaskId] = useState("");
  const queries = useQueryClient();
  const ask = useMutation({
    mutationFn: () => register(queries, agent, taskId.trim()),
    onSuccess: () => setTaskId(""),
  });
  return (
    <section className={css.card} aria-labelledby="receiver-register">
      <h2 id="receiver-register">{texts.registerTitle}</h2>
      <p className={`${ui.soft} ${ui.small}`}>{texts.registerHint}</p>
      <form
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          ask.mutate();
        }}
      >
        <AgentChoice agent={agent} onAgent={onAgent} />
        <div className={css.line}>
          <input
            className={ui.input}
            aria-label={texts.taskId}
            placeholder={texts.taskId}
            spellCheck={false}
            value={taskId}
            onChange={({ target }) => setTaskId(target.value)}
          />
          <Button type="submit" disabled={agent === "" || taskId.trim() === "" || ask.isPending}>
            <BellPlus size={15} aria-hidden="true" />
            {texts.register}
          </Button>
        </div>
      </form>
      {ask.isError && <Failure error={ask.error} />}
      <Registered address={address} />
    </section>
  );
}

function AgentChoice({ agent, onAgent }: { readonly agent: string } & Pick<RegisterProps, "onAgent">): ReactNode {
  const { data } = useSuspenseQuery(sessionQuery);
  const added = useSyncExternalStore(addedAgents.subscribe, addedAgents.get);
  const agents = "session" in data ? allAgents(data.session, added) : [];
  const isListed = agent === "" || agents.some(({ url }) => url === agent);
  return (
    <select
      className={ui.input}
      aria-label={texts.agent}
      value={agent}
      onChange={({ target }) => onAgent(target.value === "" ? undefined : target.value)}
    >
      <option value="">{texts.chooseAgent}</option>
      {!isListed && <option value={agent}>{agent}</option>}
      {agents.map(({ name, url }) => (
        <option key={url} value={url}>
          {`${name} (${new URL(url).host})`}
        </option>
      ))}
    </select>
  );
}

function Registered({ address }: { readonly address: string }): ReactNode {
  const known = useRegistrations(address);
  if (known.length === 0) return undefined;
  return (
    <ul className={css.list} aria-label={texts.registered}>
      {known.toReversed().map((each) => (
        <RegisteredTask key={`${each.agent} ${each.taskId}`} of={each} />
      ))}
    </ul>
  );
}

function RegisteredTask({ of }: { readonly of: Registration }): ReactNode {
  const queries = useQueryClient();
  const stop = useMutation({ mutationFn: () => unregister(queries, of) });
  const { agent, taskId } = of;
  return (
    <li>
      <div className={css.item}>
        <Link to="/talk" search={{ agent, task: taskId }} className={ui.mono} title={taskId}>
          {taskId}
        </Link>
        <span className={`${ui.soft} ${ui.small}`}>{new URL(agent).host}</span>
        <Button
          kind="plain"
          icon
          title={texts.unregister(taskId)}
          disabled={stop.isPending}
          onClick={() => stop.mutate()}
        >
          <X size={14} aria-hidden="true" />
        </Button>
      </div>
      {stop.isError && <Note tone="bad">{sentenceOf(stop.error)}</Note>}
    </li>
  );
}
