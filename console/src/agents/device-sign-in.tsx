import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { DevicePrompt } from "../../../src/client/oauth/index.js";
import { agentWords } from "../texts/agents.js";
import { ErrorNote } from "../ui/error.js";
import { Button, CopyText, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import { useAgent } from "./client.js";
import { Outward } from "./outward.js";

/** Shows a code that is confirmed at the issuer's page, on any device. */
export function DeviceSignIn({ agent, scheme }: { readonly agent: string; readonly scheme: string }): ReactNode {
  const { data: client, error } = useAgent(agent);
  const [prompt, setPrompt] = useState<DevicePrompt>();
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const confirm = useMutation({
    mutationFn: async () => {
      if (client === undefined) return;
      const controller = new AbortController();
      abort.current = controller;
      const { confirmDevice } = await import("./oauth.js");
      await confirmDevice(client, { agent, scheme, signal: controller.signal, prompt: setPrompt }).catch((thrown) => {
        if (!controller.signal.aborted) throw thrown;
      });
    },
    onSettled: () => setPrompt(undefined),
  });
  const { login: texts } = agentWords;
  const failure = confirm.error ?? error;
  if (prompt !== undefined) {
    return (
      <div className={css.section} role="status">
        <p>{texts.enterCode}</p>
        <p className={css.code}>
          <CopyText text={prompt.userCode} />
        </p>
        <div className={ui.row}>
          <Outward href={prompt.verificationUriComplete ?? prompt.verificationUri}>{texts.openPage}</Outward>
          <span className={ui.soft}>{texts.waiting}</span>
          <Button onClick={() => abort.current?.abort()}>{texts.stop}</Button>
        </div>
      </div>
    );
  }
  return (
    <>
      <div className={ui.row}>
        <Button kind="main" disabled={client === undefined || confirm.isPending} onClick={() => confirm.mutate()}>
          {texts.confirm}
        </Button>
      </div>
      {failure !== null && <ErrorNote error={failure} />}
    </>
  );
}
