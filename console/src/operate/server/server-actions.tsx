import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import type { GetServerResponse } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { admin } from "../../api/admin.js";
import { serverWords } from "../../texts/server.js";
import { Confirm } from "../../ui/dialog.js";
import { ErrorNote } from "../../ui/error.js";
import { css } from "../../ui/parts.js";
import { WriteButton } from "../shared/write-button.js";
import { useMayWrite } from "../tasks/role.js";
import { BackupDialog } from "./backup-dialog.js";
import page from "./server.module.css";

const levels = ["debug", "info", "warn", "error"] as const;

/** Actions on the process: log level, backup and drain. */
export function ServerActions({ server }: { readonly server: GetServerResponse }): ReactNode {
  const [isBackingUp, setBackingUp] = useState(false);
  return (
    <section className={`${css.card} ${css.stack}`}>
      {server.logLevel === "" ? (
        <p className={css.soft}>{serverWords.log.none}</p>
      ) : (
        <LogLevel key={server.logLevel} current={server.logLevel} />
      )}
      <div className={css.row}>
        <WriteButton onClick={() => setBackingUp(true)}>{serverWords.backup.action}</WriteButton>
        <Drain isDraining={server.readiness === "draining"} />
      </div>
      <BackupDialog isOpen={isBackingUp} onClose={() => setBackingUp(false)} />
    </section>
  );
}

function LogLevel({ current }: { readonly current: string }): ReactNode {
  const id = useId();
  const mayWrite = useMayWrite();
  const queries = useQueryClient();
  const [level, setLevel] = useState(current);
  const set = useMutation({
    mutationFn: () => admin.setLogLevel({ level }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["server"] }),
  });
  return (
    <form
      className={css.row}
      onSubmit={(event) => {
        event.preventDefault();
        if (mayWrite) set.mutate();
      }}
    >
      <label htmlFor={id}>{serverWords.log.level}</label>
      <select
        id={id}
        className={`${css.input} ${page.level}`}
        value={level}
        disabled={!mayWrite}
        onChange={({ target }) => setLevel(target.value)}
      >
        {[...new Set<string>([...levels, current])].map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
      <WriteButton type="submit" disabled={mayWrite && (level === current || set.isPending)}>
        {serverWords.log.set}
      </WriteButton>
      {set.isError && <ErrorNote error={set.error} />}
    </form>
  );
}

function Drain({ isDraining }: { readonly isDraining: boolean }): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const queries = useQueryClient();
  const { drain: texts } = serverWords;
  const drain = useMutation({
    mutationFn: () => admin.drain({}),
    onSuccess: () => {
      setAsking(false);
      return queries.invalidateQueries({ queryKey: ["server"] });
    },
  });
  return (
    <>
      <WriteButton kind="danger" disabled={isDraining} onClick={() => setAsking(true)}>
        {texts.action}
      </WriteButton>
      <span role="status" className={css.soft}>
        {drain.data && texts.done(Number(drain.data.running))}
      </span>
      <Confirm
        title={texts.title}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        action={texts.action}
        isBusy={drain.isPending}
        onConfirm={() => drain.mutate()}
      >
        <p>{texts.text}</p>
        {drain.isError && <ErrorNote error={drain.error} />}
      </Confirm>
    </>
  );
}
