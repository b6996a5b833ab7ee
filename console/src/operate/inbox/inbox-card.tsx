import type { ReactNode } from "react";
import { operateWords } from "../../texts/operate.js";
import { css, Time } from "../../ui/parts.js";
import { StateBadge } from "../../ui/states.js";
import { ConversationLink, OwnerName, TaskLink, TenantName } from "../shared/names.js";
import look from "../shared/shared.module.css";
import { useMayWrite } from "../tasks/role.js";
import type { TaskRow } from "../tasks/task-row.js";
import { AnswerForm } from "./answer-form.js";
import { FormAnswer } from "./form-answer.js";
import page from "./inbox.module.css";
import { formIn, Question, useQuestion } from "./question.js";

const { inbox: texts } = operateWords;

interface InboxCardProps {
  readonly row: TaskRow;
  readonly onAnswered: (row: TaskRow) => void;
}

/** A task that waits: what its agent asks, and a form for the answer. */
export function InboxCard({ row, onAnswered }: InboxCardProps): ReactNode {
  const { id, state, agent, owner, tenant, context, at } = row;
  const form = formIn(useQuestion(row).data);
  const mayWrite = useMayWrite();
  return (
    <li className={`${css.card} ${page.item}`} data-inbox={id} tabIndex={-1}>
      <div className={css.row}>
        <StateBadge state={state} />
        <h2 className={look.rest}>{agent === "" ? texts.question : agent}</h2>
        <span className={`${css.soft} ${css.small}`}>
          {texts.since} <Time at={new Date(at)} />
        </span>
      </div>
      <div className={page.question}>
        <Question row={row} />
      </div>
      <p className={look.chips}>
        <span>
          {operateWords.task} <TaskLink id={id} />
        </span>
        <span>
          {operateWords.owner}: <OwnerName owner={owner} />
        </span>
        {tenant !== "" && (
          <span>
            {operateWords.tenant}: <TenantName tenant={tenant} />
          </span>
        )}
        <ConversationLink context={context} owner={owner} tenant={tenant}>
          {texts.conversation}
        </ConversationLink>
      </p>
      {form !== undefined && mayWrite ? (
        <FormAnswer row={row} form={form} onAnswered={() => onAnswered(row)} />
      ) : (
        <AnswerForm row={row} onAnswered={() => onAnswered(row)} />
      )}
    </li>
  );
}
