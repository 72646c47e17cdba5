"""The vLLM backend: a model in this process, all requests at once.

Prompts begin with examples and the shared instructions, and those of one source are adjacent. The
prefix cache covers the examples and instructions. It covers the source only in the published
prompts: in ours, the section of the source begins with a line that is computed from all texts of
the prompt. A grammar without free white space restricts answers to compact JSON, since a grammar
that allows it lets a model fill the token budget with blanks.
"""

from __future__ import annotations

import atexit
import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gecjury.core.errors import (
    IncompleteError,
    InputError,
    MissingExtraError,
    OptionError,
    install_hint,
    nearest,
)
from gecjury.core.textfiles import read_toml, user_path
from gecjury.judges.backends.backend import Assignment, no_template
from gecjury.judges.backends.window import fitted, too_long
from gecjury.judges.exchange import AnswerSchema, Attempt, Model, Reply, Sampling
from gecjury.models.checkpoints import check_name, check_settings, weight_bytes

if TYPE_CHECKING:
    from vllm import RequestOutput, SamplingParams

EngineSettings = Mapping[str, float | str]
"""Settings of `vllm.LLM` by name."""
# Settings of `vllm.LLM` that a user's file may give. A study that somebody sent may name the file,
# so these load no code, read and write no files, and open no connections.
_SETTINGS = frozenset(
    (
        "async_scheduling", "block_size", "cpu_offload_gb", "data_parallel_size",
        "disable_cascade_attn", "disable_custom_all_reduce", "disable_sliding_window",
        "distributed_executor_backend", "dtype", "enable_chunked_prefill",
        "enable_expert_parallel", "enable_prefix_caching", "enforce_eager",
        "gpu_memory_utilization", "kv_cache_dtype", "kv_cache_memory_bytes",
        "max_model_len", "max_num_batched_tokens", "max_num_seqs",
        "max_parallel_loading_workers", "num_gpu_blocks_override", "pipeline_parallel_size",
        "quantization", "seed", "tensor_parallel_size",
    )
)  # fmt: skip
# Without dots and slashes: vLLM imports a class by its dotted name, and opens a path.
_WORD = re.compile(r"[A-Za-z0-9_-]{1,40}")
# Tokens that a template may need besides those of the messages.
_ROOM = 64
_ENVIRONMENT = {
    # Results go to stdout, so vLLM's log must not.
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",
    "VLLM_LOGGING_LEVEL": "ERROR",
    # Otherwise vLLM would report model, hardware and settings to its developers.
    "VLLM_NO_USAGE_STATS": "1",
    # The engine's processes would import from the working directory.
    "PYTHONSAFEPATH": "1",
}
# One engine at a time: two models seldom fit into one machine's memory.
_loaded: dict[tuple[object, ...], _VLLMEngine] = {}


class VLLMBackend:
    """Asks a model in this process; see `gecjury.judges.backends.backend.Backend`."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, work: Assignment) -> None:
        """Answer all attempts in one call, and retries in further calls."""
        waiting = list(work.attempts[: work.claim(work.attempts)])
        if not waiting:
            return
        engine = _engine(self.model)
        while waiting:
            fitting, unfit = engine.fit(waiting)
            for attempt in unfit:
                work.deliver(attempt, too_long(engine.window))
            following = (work.deliver(attempt, reply) for attempt, reply in engine.answer(fitting))
            waiting = [attempt for attempt in following if attempt is not None]


def _engine(model: Model) -> _VLLMEngine:
    key = (model.name, model.options)
    if key not in _loaded:
        _unload()
        _loaded[key] = _VLLMEngine(model)
        # vLLM's engine is a process for which Python waits at exit, and vLLM may stop it only after
        # that. A function that is registered last, after vLLM is imported, runs before both.
        atexit.unregister(_unload)
        atexit.register(_unload)
    return _loaded[key]


def _unload() -> None:
    """Stop the loaded engine, and free its memory."""
    while _loaded:
        _loaded.popitem()[1].stop()


class _VLLMEngine:
    """A loaded model; handles the differences between versions of vLLM."""

    def __init__(self, model: Model) -> None:
        _refuse_file(model.name)
        check_name(model.name, packaged=False)
        for variable, value in _ENVIRONMENT.items():
            os.environ.setdefault(variable, value)
        try:
            import vllm
        except ImportError as error:
            raise MissingExtraError(
                f"backend=vllm needs vLLM, which cannot be imported ({error}): "
                f"{install_hint('vllm')} on a machine with a GPU"
            ) from None
        self.vllm, self.model = vllm, model
        options = dict(model.options)
        arguments: dict[str, object] = {
            "model": model.name,
            "enable_prefix_caching": True,
            # Set for the engine as well as for each request; only xgrammar respects both.
            "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
            **options,
            "trust_remote_code": False,
        }
        check_settings(model.name)
        _refuse_too_large(model.name, options)
        try:
            self.llm = vllm.LLM(**arguments)
        except Exception as error:  # vLLM raises any error of its parts
            reason = _first_line(error) + _memory_hint(str(error), options)
            raise InputError(f"vLLM cannot load {model.name}: {reason}") from None
        tokenizer = self.llm.get_tokenizer()
        if not getattr(tokenizer, "chat_template", None):
            raise InputError(no_template(model.name))
        self.tokenizer = tokenizer
        ends = tokenizer.encode("</think>", add_special_tokens=False)
        # Models that think end their thoughts with a special token.
        self.thoughts_end: int | None = ends[0] if len(ends) == 1 else None
        config = getattr(getattr(self.llm, "llm_engine", None), "model_config", None)
        window = getattr(config, "max_model_len", None)
        self.window: int | None = window if isinstance(window, int) else None

    def stop(self) -> None:
        """End the engine's process, if this version of vLLM has one."""
        core = getattr(getattr(self.llm, "llm_engine", None), "engine_core", None)
        shutdown = getattr(core, "shutdown", None)
        if callable(shutdown):
            shutdown()

    def fit(self, attempts: Sequence[Attempt]) -> tuple[list[Attempt], list[Attempt]]:
        """Return the attempts that fit the window, and those that do not.

        A prompt that is too long would end the whole batch, so tokens are counted first.
        """
        if self.window is None:
            return list(attempts), []
        fitting, unfit = [], []
        around = self._tokens(attempts[0], empty=True) + _ROOM
        for attempt in attempts:
            # A token has at least one byte, so most prompts need not be counted.
            most = around + sum(len(m["content"].encode()) for m in attempt.request.messages)
            if most + attempt.max_tokens <= self.window:
                fitting.append(attempt)
            elif (fit := fitted(attempt, self._tokens(attempt), self.window)) is not None:
                fitting.append(fit)
            else:
                unfit.append(attempt)
        return fitting, unfit

    def _tokens(self, attempt: Attempt, *, empty: bool = False) -> int:
        """Count the tokens of a prompt as the model reads it, or of the template around it."""
        options = _thinking(attempt.sampling)
        messages = [dict(m, content="") if empty else dict(m) for m in attempt.request.messages]
        text = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **options
        )
        return len(self.tokenizer.encode(text, add_special_tokens=False))

    def answer(self, attempts: Sequence[Attempt]) -> Iterator[tuple[Attempt, Reply]]:
        """Answer all attempts in one batch, each as soon as it is done.

        Raises:
            InputError: vLLM rejects a prompt.
            IncompleteError: vLLM failed.
        """
        if not attempts:
            return
        conversations = [[dict(m) for m in attempt.request.messages] for attempt in attempts]
        params = [self._params(attempt.sampling, attempt.request.schema) for attempt in attempts]
        template = {"chat_template_kwargs": _thinking(attempts[0].sampling)}
        start = time.perf_counter()
        # Like `LLM.chat`, but in two steps if possible, so that replies are stored as they arrive.
        stepwise = hasattr(self.llm, "enqueue_chat")
        begin = self.llm.enqueue_chat if stepwise else self.llm.chat
        try:
            begun = begin(conversations, params, use_tqdm=False, **template)
        except Exception as error:  # vLLM's own classes differ between versions
            raise InputError(
                f"{self.model.name} cannot process a prompt: {_first_line(error)}"
            ) from None
        if not stepwise:
            seconds = time.perf_counter() - start
            for attempt, output in zip(attempts, begun, strict=True):
                yield attempt, _reply(output, seconds, attempt, self.thoughts_end)
            return
        by_id: dict[str, Attempt] = {}
        for name, attempt in zip(map(str, begun), attempts, strict=True):
            # Newer versions add random letters to the names, which the outputs lack.
            by_id |= {name: attempt, name.rpartition("-")[0] or name: attempt}
        engine = self.llm.llm_engine
        while engine.has_unfinished_requests():
            try:
                outputs = engine.step()
            except Exception as error:  # a fault of vLLM's
                _unload()
                raise IncompleteError(
                    f"vLLM stopped ({_first_line(error)}). The replies so far are stored, and the "
                    "same command goes on; change settings of the engine (engine=FILE.toml) first"
                ) from None
            for output in outputs:
                # Outputs that are left over from a failed call are skipped.
                if output.finished and (asked := by_id.get(str(output.request_id))):
                    seconds = time.perf_counter() - start
                    yield asked, _reply(output, seconds, asked, self.thoughts_end)

    def _params(self, sampling: Sampling, schema: AnswerSchema | None) -> SamplingParams:
        settings: dict[str, object] = {
            "temperature": sampling.get("temperature", 0.0),
            "max_tokens": sampling["max_tokens"],
            "seed": sampling.get("seed"),
            # Some models mark their reasoning with special tokens; a grammar allows no reasoning.
            "skip_special_tokens": schema is not None,
        }
        if sampling.get("logprobs"):
            settings["logprobs"] = sampling["logprobs"]
        if schema is not None:
            from vllm.sampling_params import StructuredOutputsParams

            settings["structured_outputs"] = StructuredOutputsParams(
                json=dict(schema), disable_any_whitespace=True
            )
        return self.vllm.SamplingParams(**settings)


def _thinking(sampling: Sampling) -> Sampling:
    """Return the chat template's options on reasoning; templates ignore unknown options."""
    options = {"enable_thinking": bool(sampling.get("thinking"))}
    if effort := sampling.get("reasoning_effort"):
        return {**options, "reasoning_effort": effort}
    return options


def read_engine(path: str) -> tuple[tuple[str, float | str], ...]:
    """Return the settings in a file, by the names of vLLM's `EngineArgs`.

    Raises:
        InputError: the file is not TOML.
        OptionError: a setting is unknown or not allowed in a file; names it and what is expected.
    """
    table = read_toml(path, "settings of vLLM's engine, such as max_model_len = 4096")
    for name, value in table.items():
        if name not in _SETTINGS:
            raise OptionError(
                f"{path}: {name!r:.60} is not a setting that a file may give vLLM: "
                f"{nearest(name, _SETTINGS)}"
            )
        word = isinstance(value, str) and _WORD.fullmatch(value)
        if not (word or isinstance(value, int | float)):
            raise OptionError(
                f"{path}: {name} is {value!r:.60}; expected a number, a truth value or a word"
            )
    return tuple(sorted(table.items()))


def _reply(
    output: RequestOutput, seconds: float, attempt: Attempt, thoughts_end: int | None
) -> Reply:
    done = output.outputs[0]
    finish = str(done.finish_reason or "stop")
    thoughts = 0
    if thoughts_end in done.token_ids:
        thoughts = len(done.token_ids) - list(done.token_ids)[::-1].index(thoughts_end)
    elif thoughts_end is not None and attempt.sampling.get("thinking") and finish == "length":
        thoughts = len(done.token_ids)
    chosen = zip(done.token_ids, done.logprobs or (), strict=False)
    tokens = tuple(
        (
            str(top[token].decoded_token),
            # A schema makes most alternatives impossible; they would fill the store.
            tuple(
                (str(entry.decoded_token), float(entry.logprob))
                for entry in top.values()
                if entry.logprob > -math.inf
            ),
        )
        for token, top in chosen
    )
    return Reply(
        done.text,
        finish,
        len(output.prompt_token_ids or ()),
        len(done.token_ids),
        tokens or None,
        0.0,
        seconds,
        attempt.overrides,
        thoughts,
        # Tokens from the prefix cache; older versions do not report them.
        getattr(output, "num_cached_tokens", None) or 0,
    )


def _refuse_file(model: str) -> None:
    """Refuse a file, such as a GGUF file, in the place of a model's folder."""
    if user_path(model).is_file():
        raise InputError(
            f"{model}: is a file, but vLLM needs a folder with config.json and *.safetensors; a "
            "GGUF file runs on llama.cpp's server: start llama-server -m FILE.gguf, and use "
            "base_url=http://HOST:8080/v1,model=NAME instead of backend=vllm"
        )


def _refuse_too_large(model: str, options: EngineSettings) -> None:
    """Refuse a model whose weights do not fit into memory, before they are loaded.

    Of a CPU's memory, only what is available counts. Of GPUs, the whole memory counts: vLLM itself
    refuses a GPU that is in use, and PyTorch would have to initialise CUDA in this process.
    """
    if options.get("quantization") or options.get("cpu_offload_gb"):
        return  # the model needs less memory than its files have
    try:
        from vllm.platforms import current_platform

        if current_platform.is_cpu():
            import psutil

            room, where = psutil.virtual_memory().available, "of memory are free"
        else:
            parts = ("tensor_parallel_size", "pipeline_parallel_size")
            devices = math.prod(int(options.get(part, 1)) for part in parts)
            room = devices * current_platform.get_device_total_memory()
            where = f"is the memory of {devices} GPU (tensor_parallel_size in engine=FILE.toml)"
    except (ImportError, NotImplementedError):
        return
    if (needed := weight_bytes(model)) > room:
        raise InputError(
            f"{model}: its weights have {needed / 1e9:.1f} GB, but {room / 1e9:.1f} "
            f"GB {where}; choose a smaller or a quantized model, or ask a server (base_url=…)"
        )


def _memory_hint(error: str, options: EngineSettings) -> str:
    """Return the remedy for an engine that has too little memory; empty for other errors.

    By default vLLM uses nine tenths of a GPU's memory, or of the machine's on a CPU.

    Args:
        error: vLLM's message; the cause may be only in the log of the engine's process.
    """
    if "memory" not in error.lower() and "Engine core initialization failed" not in error:
        return ""
    share = float(options.get("gpu_memory_utilization", 1))
    less = 0.3 if share > 0.3 else round(share / 2, 3)
    return (
        "; if memory is short, name a file with less of it (engine=FILE.toml), also on a CPU: "
        f"gpu_memory_utilization = {less}, or a shorter context: max_model_len = 4096"
    )


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).split("\n") if line.strip()]
    return " ".join(lines[:2])[:300] or type(error).__name__
