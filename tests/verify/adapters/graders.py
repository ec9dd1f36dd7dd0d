"""The text of a module with graders as their users write them, good and hostile ones."""

MODULE = """
import asyncio, os, random, sys, time
from collections import Counter
from fractions import Fraction

LOUD = "x" * 1_000_000


def right(item, completion, bonus=0.0):
    return (completion.strip() == item["answer"]) + bonus


def parts(item, completion):
    return {"score": 1.1, "success": completion == item["answer"], "length": len(completion), "note": "text",
            "ratio": float("nan")}


async def later(item, completion):
    await asyncio.sleep(0)
    return 1.0 if completion == "yes" else 0


class Strict:
    def __call__(self, item, completion):
        return completion == item["answer"]


def drawn(item, completion):
    return random.random()


def hostile(item, completion):
    if completion == "hang":
        time.sleep(1e6)
    if completion == "spin":
        while True:
            pass
    if completion == "exit":
        os._exit(0)
    if completion == "quit":
        sys.exit("bye")
    if completion == "raise":
        raise KeyError("gold")
    if completion == "interrupt":
        raise KeyboardInterrupt
    if completion == "print":
        for _ in range(5):
            print(LOUD)
            print(LOUD, file=sys.stderr)
            os.write(1, b"{}\\\\n" * 1000)
        return 1
    if completion == "close":
        os.close(0); os.close(1)
        return 1
    return {
        "string": "1.0", "none": None, "nan": float("nan"), "inf": float("inf"), "list": [1.0], "dict": {},
        "words": {"score": "high"}, "nothing": {"score": None}, "set": {1.0}, "big": 10**400, "complex": 1j,
        "half": Fraction(1, 2), "true": True,
    }[completion]


# TRL

def length_reward(completions, **kwargs):
    return [float(len(text)) for text in completions]


def matches(prompts, completions, answer, **kwargs):
    return [1.0 if text == gold else 0.0 for text, gold in zip(completions, answer)]


async def matches_later(completions, answer, log_metric=None, **kwargs):
    log_metric("seen", len(completions))
    return [float(text == gold) for text, gold in zip(completions, answer)]


def chatty(prompts, completions):
    assert completions[0][0]["role"] == "assistant"
    return [float(messages[0]["content"] == "hi") for messages in completions]


def only_math(completions, kind, **kwargs):
    return [1.0 if kind[0] == "math" else None for _ in completions]


def tokens(completion_ids, **kwargs):
    return [float(len(ids)) for ids in completion_ids]


def two(completions, **kwargs):
    return [1.0, 2.0]


def scalar(completions, **kwargs):
    return 1.0


# verl

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    assert data_source == "openai/gsm8k"
    return float(solution_str.split("####")[-1].strip() == ground_truth)


def dapo(data_source, solution_str, ground_truth, extra_info=None, **kwargs):
    right = solution_str == ground_truth
    return {"score": 1.0 if right else -1.0, "acc": right, "pred": solution_str}


def bare(solution_str, ground_truth, format_score=0.0):
    return 1.0 if solution_str == ground_truth else format_score


# RandOpt

class Handler:
    name = "mine"

    def load_data(self, path, split, max_samples=None):
        raise AssertionError("rows come from the task")

    def compute_reward(self, response, ground_truth):
        return 1.0 if self.extract_answer(response) == str(ground_truth) else 0.1

    def extract_answer(self, response):
        return response.split("<answer>")[-1].split("</answer>")[0] if "<answer>" in response else None


class Countdown(Handler):
    def extract_answer_for_voting(self, response, numbers=None):
        answer = self.extract_answer(response)
        return answer, answer is not None and numbers == [1, 2], None


def scorer(response, ground_truth):
    return float(response == ground_truth)


# verifiers, rubric functions

def exact(completion, answer):
    return float(completion[-1]["content"] == answer)


async def brief(completion, state, **kwargs):
    return 1.0 if len(state["completion"][-1]["content"]) < 5 else 0.0


class Rubric:
    def __init__(self):
        self.funcs = [exact, brief]
        self.weights = [1.0, 0.25]


RUBRIC = Rubric()
"""
