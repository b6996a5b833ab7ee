import { Link, useRouter } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";
import { base } from "../../api/base.js";
import { operateWords } from "../../texts/operate.js";
import { css } from "../../ui/parts.js";
import { textOfName } from "../tasks/filter.js";
import look from "./shared.module.css";

/** The name of an owner, or a word for anonymous callers. */
export function OwnerName({ owner }: { readonly owner: string }): ReactNode {
  return owner === "" ? <span className={css.soft}>{operateWords.anonymous}</span> : <span title={owner}>{owner}</span>;
}

/** The name of a tenant, or a word for the default one. */
export function TenantName({ tenant }: { readonly tenant: string }): ReactNode {
  return tenant === "" ? (
    <span className={css.soft}>{operateWords.defaultTenant}</span>
  ) : (
    <span title={tenant}>{tenant}</span>
  );
}

interface TaskLinkProps {
  readonly id: string;
  readonly children?: ReactNode;
  readonly className?: string | undefined;
  readonly tabIndex?: number;
}

/** A link to a task, by its id. Long lists have many, and one of the router costs as much as the rest of a row. */
export function TaskLink({ id, children, className = look.link, tabIndex }: TaskLinkProps): ReactNode {
  const router = useRouter();
  const open = (event: MouseEvent): void => {
    const { button, metaKey, ctrlKey, shiftKey, altKey } = event;
    if (button !== 0 || metaKey || ctrlKey || shiftKey || altKey) return;
    event.preventDefault();
    void router.navigate({ to: "/operate/tasks/$taskId", params: { taskId: id } });
  };
  return (
    <a
      href={`${base.pathname}operate/tasks/${encodeURIComponent(id)}`}
      className={`${className} ${css.mono}`}
      title={id}
      tabIndex={tabIndex}
      onClick={open}
    >
      {children ?? id}
    </a>
  );
}

interface ConversationLinkProps {
  readonly context: string;
  readonly owner: string;
  readonly tenant: string;
  readonly children?: ReactNode;
}

/** A link to a conversation. Its id is unique within an owner of a tenant only. */
export function ConversationLink({ context, owner, tenant, children }: ConversationLinkProps): ReactNode {
  return (
    <Link
      to="/operate/conversations/$contextId"
      params={{ contextId: context }}
      search={{ owner: textOfName(owner), tenant: textOfName(tenant) }}
      className={look.link}
      title={context}
    >
      {children ?? context}
    </Link>
  );
}
