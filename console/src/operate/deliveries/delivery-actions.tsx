import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import { type Attempt, type Delivery, DeliveryState } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { admin } from "../../api/admin.js";
import { operateWords } from "../../texts/operate.js";
import { Confirm } from "../../ui/dialog.js";
import { ErrorNote } from "../../ui/error.js";
import { css, Note } from "../../ui/parts.js";
import { WriteButton } from "../shared/write-button.js";
import { useMayWrite } from "../tasks/role.js";
import page from "./deliveries.module.css";

const { deliveries: texts } = operateWords;

/** Actions on one delivery. Each returns a sentence about its result. */
type Act = () => Promise<{ readonly text: string; readonly isBad: boolean }>;

function told(attempt: Attempt | undefined): { readonly text: string; readonly isBad: boolean } {
  const { failure = "", status = 0 } = attempt ?? {};
  return failure === ""
    ? { text: texts.accepted(status), isBad: false }
    : { text: texts.refused(failure), isBad: true };
}

interface DeliveryActionsProps {
  readonly delivery: Delivery;
  readonly onDeleted: () => void;
}

/** Buttons for one delivery, and what came of them. */
export function DeliveryActions({ delivery, onDeleted }: DeliveryActionsProps): ReactNode {
  const { taskId, configId, state, headPosition } = delivery;
  const [isAsking, setAsking] = useState(false);
  const queries = useQueryClient();
  const act = useMutation({
    mutationFn: (work: Act) => work(),
    onSettled: () => Promise.all([queries.invalidateQueries({ queryKey: ["deliveries"] })]),
  });
  const remove = useMutation({
    mutationFn: () => admin.deletePushConfig({ taskId, configId }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["deliveries"] });
      onDeleted();
    },
  });
  const redrive: Act = async () => {
    const { count } = await admin.redriveDeliveries({ keys: [{ taskId, configId }] });
    return { text: texts.redriven(Number(count)), isBad: false };
  };
  const test: Act = async () => told((await admin.sendTestEvent({ taskId, configId })).attempt);
  const resend = (generation: number) =>
    act.mutate(async () => told((await admin.resendEvent({ taskId, configId, generation })).attempt));
  return (
    <div className={css.stack}>
      <div className={css.row}>
        {state === DeliveryState.DEAD && (
          <WriteButton kind="main" disabled={act.isPending} onClick={() => act.mutate(redrive)}>
            {texts.redrive}
          </WriteButton>
        )}
        <WriteButton disabled={act.isPending} onClick={() => act.mutate(test)}>
          {texts.test}
        </WriteButton>
        <WriteButton kind="danger" onClick={() => setAsking(true)}>
          {texts.remove}
        </WriteButton>
      </div>
      <ResendForm max={headPosition} isBusy={act.isPending} onSend={resend} />
      {act.isError && <ErrorNote error={act.error} />}
      <div role="status">{act.data && <Note {...(act.data.isBad && { tone: "wait" })}>{act.data.text}</Note>}</div>
      <Confirm
        title={texts.removeTitle}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        action={texts.remove}
        isBusy={remove.isPending}
        onConfirm={() => remove.mutate()}
      >
        <p>{texts.removeText}</p>
        {remove.isError && <ErrorNote error={remove.error} />}
      </Confirm>
    </div>
  );
}

interface ResendFormProps {
  readonly max: number;
  readonly isBusy: boolean;
  readonly onSend: (generation: number) => void;
}

function ResendForm({ max, isBusy, onSend }: ResendFormProps): ReactNode {
  const id = useId();
  const mayWrite = useMayWrite();
  const [generation, setGeneration] = useState("1");
  return (
    <form
      className={css.row}
      aria-label={texts.resend}
      onSubmit={(event) => {
        event.preventDefault();
        if (mayWrite) onSend(Number(generation));
      }}
    >
      <label htmlFor={id}>{texts.resendNumber}</label>
      <input
        id={id}
        className={`${css.input} ${page.generation}`}
        type="number"
        min={1}
        max={Math.max(1, max)}
        required
        value={generation}
        disabled={!mayWrite}
        onChange={({ target }) => setGeneration(target.value)}
      />
      <WriteButton type="submit" disabled={isBusy}>
        {texts.resendSubmit}
      </WriteButton>
    </form>
  );
}
