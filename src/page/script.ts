import { PROTOCOL_VERSION } from "../version/v1.js";

/**
 * What the page does in the browser, as it is sent: it sends a message over HTTP+JSON, reads the stream of its answer, goes
 * on with the task where the agent asks for more, and copies commands. It keeps nothing and loads nothing.
 */
export const script: string = `"use strict";
const $=(id)=>document.getElementById(id);
const form=$("send"),talk=$("talk"),sendButton=$("go"),cancelButton=$("cancel"),newButton=$("new"),raw=$("raw"),log=$("log"),now=$("now");
const base=form.dataset.base,streams=form.dataset.streams==="yes";
let taskId="",contextId="",lastState="",abort;
const make=(tag,className,text)=>{const node=document.createElement(tag);if(className)node.className=className;if(text!==undefined)node.textContent=text;return node};
const line=(className)=>{const item=make("li",className);talk.append(item);return item};
const show=(parts,into)=>{for(const part of parts||[]){
 if(typeof part.text==="string"){const last=into.lastElementChild;if(last&&last.dataset.text){last.textContent+=part.text}else{const node=make("pre","",part.text);node.dataset.text="1";into.append(node)}}
 else if(part.data!==undefined)into.append(make("pre","code",JSON.stringify(part.data,null,2)));
 else into.append(make("pre","soft",(part.filename||part.mediaType||"file")+(part.url?": "+part.url:part.raw?" ("+Math.floor(part.raw.length*3/4)+" bytes)":"")));
}};
const kinds={COMPLETED:"good",FAILED:"bad",REJECTED:"bad",CANCELED:"wait",INPUT_REQUIRED:"wait",AUTH_REQUIRED:"wait"};
let artifacts=new Map();
const showArtifact=(artifact,append)=>{let item=artifacts.get(artifact.artifactId);
 if(!item){item=line("");item.append(make("span","soft small",artifact.name||"Result"));item.append(make("div"));artifacts.set(artifact.artifactId,item)}
 const into=item.lastElementChild;if(!append)into.replaceChildren();show(artifact.parts,into)};
const showStatus=(status)=>{lastState=status.state;const word=status.state.replace("TASK_STATE_","");const item=line("");
 item.append(make("span","state "+(kinds[word]||"soft"),word.toLowerCase().replace("_"," ")));
 now.textContent=word.toLowerCase().replace("_"," ");
 if(status.message)show(status.message.parts,item);
 taskId=word==="INPUT_REQUIRED"||word==="AUTH_REQUIRED"?taskId:isOver(word)?"":taskId};
const isOver=(word)=>["COMPLETED","FAILED","REJECTED","CANCELED"].includes(word);
const hear=(event)=>{raw.textContent+=JSON.stringify(event,null,1)+"\\n";
 if(event.task){const known=streams&&taskId===event.task.id&&lastState===event.task.status.state;taskId=event.task.id;contextId=event.task.contextId;if(known)return;for(const artifact of event.task.artifacts||[])showArtifact(artifact,false);showStatus(event.task.status)}
 if(event.message){now.textContent="answered";contextId=event.message.contextId||contextId;const item=line("");show(event.message.parts,item)}
 if(event.statusUpdate)showStatus(event.statusUpdate.status);
 if(event.artifactUpdate)showArtifact(event.artifactUpdate.artifact,event.artifactUpdate.append===true);
 if(event.error)fail(event.error.message)};
const fail=(text)=>{now.textContent="failed";line("bad").append(make("span","bad",text))};
const headers=()=>{const all={"content-type":"application/json","a2a-version":"${PROTOCOL_VERSION}"};const credentials=$("auth").value.trim();if(credentials)all.authorization=credentials;return all};
const read=async(response)=>{const reader=response.body.pipeThrough(new TextDecoderStream()).getReader();let text="";
 for(;;){const{done,value}=await reader.read();if(done)return;text+=value;
  for(let end;(end=text.indexOf("\\n\\n"))>=0;text=text.slice(end+2)){const data=text.slice(0,end).split("\\n").filter((each)=>each.startsWith("data:")).map((each)=>each.slice(5).trimStart()).join("\\n");if(data)hear(JSON.parse(data))}}};
const busy=(is)=>{log.setAttribute("aria-busy",is);sendButton.disabled=is;cancelButton.hidden=!is;newButton.hidden=is||!contextId};
form.addEventListener("submit",async(event)=>{event.preventDefault();const text=$("text").value;if(!text.trim()||sendButton.disabled)return;
 now.textContent="sending";const mine=line("you");mine.append(make("span","soft small","You"),make("pre","",text));$("text").value="";if(!taskId)artifacts=new Map();busy(true);abort=new AbortController();
 const message={messageId:self.crypto&&crypto.randomUUID?crypto.randomUUID():String(Math.random()).slice(2)+Date.now(),role:"ROLE_USER",parts:[{text}],...(taskId&&{taskId}),...(contextId&&{contextId})};
 try{const response=await fetch(base+(streams?"/message:stream":"/message:send"),{method:"POST",headers:headers(),body:JSON.stringify({message}),signal:abort.signal});
  if(!response.ok){const body=await response.json().catch(()=>({}));fail((body.error&&body.error.message)||"The server answered with "+response.status+".");if(response.status===401)$("who").open=true}
  else if((response.headers.get("content-type")||"").startsWith("text/event-stream"))await read(response);
  else hear(await response.json())}
 catch(error){if(error.name!=="AbortError")fail("The connection was lost: "+error.message)}
 busy(false);$("text").focus()});
$("text").addEventListener("keydown",(event)=>{if(event.key==="Enter"&&!event.shiftKey&&!event.isComposing){event.preventDefault();form.requestSubmit()}});
cancelButton.addEventListener("click",async()=>{if(!taskId){abort.abort();return}
 const response=await fetch(base+"/tasks/"+encodeURIComponent(taskId)+":cancel",{method:"POST",headers:headers(),body:"{}"}).catch(()=>undefined);if(!response||!response.ok)abort.abort()});
newButton.addEventListener("click",()=>{taskId=contextId="";talk.replaceChildren();raw.textContent="";newButton.hidden=true;now.textContent="";$("text").focus()});
document.addEventListener("click",async(event)=>{const button=event.target.closest("button");if(!button)return;
 if(button.dataset.example!==undefined){$("text").value=button.dataset.example;$("text").focus()}
 if(button.dataset.copy!==undefined){const text=button.previousElementSibling.textContent;
  try{await navigator.clipboard.writeText(text);button.textContent=now.textContent="Copied"}catch{getSelection().selectAllChildren(button.previousElementSibling);button.textContent=now.textContent="Selected"}
  setTimeout(()=>{button.textContent="Copy"},1500)}});
`;
